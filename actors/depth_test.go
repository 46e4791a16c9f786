package actors

import (
	"fmt"
	"maps"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

func depthsOf(s *System) map[string]int {
	got := map[string]int{}
	s.Depths(func(kind uint8, l delivery.Lane, n int) { got[fmt.Sprint(kind, " ", l)] = n })
	return got
}

// What waits is counted by kind and lane; handled, refused and discarded
// envelopes wait no longer.
func TestDepths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 2})
		sup := &Supervisor{Lanes: each(Capacity{Max: 6})}
		gates := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
		var refs [2]*Ref
		for i := range refs {
			r := &recorder{gate: gates[i]}
			ref, err := s.Spawn(Spec{Name: fmt.Sprint("a", i), First: r, Kind: uint8(3 + i), Supervisor: sup})
			if err != nil {
				t.Fatal(err)
			}
			refs[i] = ref
			ref.Tell(event("gate", protocol.Normal))
		}
		synctest.Wait()
		check := func(when string, want map[string]int) {
			t.Helper()
			if got := depthsOf(s); !maps.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", when, got, want)
			}
		}
		check("both at work", map[string]int{})
		for range 3 {
			refs[0].Tell(event("e", protocol.Normal))
		}
		refs[0].Tell(event("e", protocol.Critical))
		refs[0].Tell(&protocol.Envelope{Kind: protocol.KindWake})
		for range 9 { // beyond the capacity
			refs[1].Tell(event("e", protocol.Low))
		}
		check("waiting", map[string]int{"3 critical": 1, "3 normal": 3, "3 wake": 1, "4 low": 6})
		close(gates[0])
		synctest.Wait()
		check("one went on", map[string]int{"4 low": 6})
		s.Stop(refs[1])
		close(gates[1])
		synctest.Wait()
		check("the other stopped", map[string]int{})
		s.Stop(refs[0])
		s.Close()
	})
}

// However senders, workers and the reader race, nothing is below zero and
// nothing is left over. Run it with -race.
func TestDepthsOfManySenders(t *testing.T) {
	s := NewSystem(Options{Workers: 4})
	var wg, senders sync.WaitGroup
	refs := make([]*Ref, 10)
	for i := range refs {
		refs[i] = spawn(t, s, fmt.Sprint("a", i), tick{&wg}, &Supervisor{})
	}
	const each = 2000
	for range 4 {
		wg.Add(each)
		senders.Go(func() {
			for i := range each {
				refs[i%len(refs)].Tell(event("x", protocol.Normal))
			}
		})
	}
	for range 100 {
		for k, n := range depthsOf(s) {
			if k != "0 normal" || n < 0 || n > 4*each {
				t.Errorf("%d of %s wait", n, k)
			}
		}
	}
	senders.Wait()
	wg.Wait()
	got := depthsOf(s)
	for end := time.Now().Add(10 * time.Second); len(got) > 0 && time.Now().Before(end); got = depthsOf(s) {
		runtime.Gosched() // a worker counts what it took when its slice ends
	}
	if len(got) > 0 {
		t.Errorf("nothing is left, and %v wait", got)
	}
	for _, r := range refs {
		s.Stop(r)
	}
	s.Close()
}

func TestSpawnRefusesWhatNoMailboxHolds(t *testing.T) {
	s := NewSystem(Options{})
	defer s.Close()
	for _, spec := range []Spec{
		{Name: "inn/a", Kind: MaxKinds},
		{Name: "out/a"},
	} {
		spec.First, spec.Supervisor = &recorder{}, &Supervisor{Prefix: "inn/"}
		if _, err := s.Spawn(spec); protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%s: got %v, want it refused", spec.Name, err)
		}
	}
}

// Promise 12. A field more in every mailbox is felt by a million of them.
func TestSizeOfAMailbox(t *testing.T) {
	if n := unsafe.Sizeof(mailbox{}); n > 192 {
		t.Errorf("a mailbox is %d bytes, want at most 192: the next size the allocator has is 208", n)
	}
}

type tick struct{ wg *sync.WaitGroup }

func (c tick) Receive(*protocol.Envelope) error { c.wg.Done(); return nil }
