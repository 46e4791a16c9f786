package actors

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tavernsim/protocol"
)

// runs notes the order in which a worker runs its actors.
type runs struct {
	got  []string
	gate chan struct{}
}

type named struct {
	name string
	*runs
	then func()
}

func (n *named) Receive(env *protocol.Envelope) error {
	if env.Type == "gate" {
		<-n.gate
		return nil
	}
	n.got = append(n.got, n.name)
	if n.then != nil {
		n.then()
	}
	return nil
}

// crowded tells a crowd something while the only worker is held up, then what
// act tells, and gives the order in which the actors ran.
func crowded(t *testing.T, sup *Supervisor, crowd int, act func(tell func(name string, kind uint8, then func(), envs ...*protocol.Envelope))) (got []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		r := &runs{gate: make(chan struct{})}
		refs := map[string]*Ref{}
		tell := func(name string, kind uint8, then func(), envs ...*protocol.Envelope) {
			if refs[name] == nil {
				ref, err := s.Spawn(Spec{Name: name, First: &named{name: name, runs: r, then: then}, Kind: kind, Supervisor: sup})
				if err != nil {
					t.Fatal(err)
				}
				refs[name] = ref
			}
			for _, env := range envs {
				refs[name].Tell(env)
			}
		}
		tell("gate", 0, nil, event("gate", protocol.Normal))
		synctest.Wait()
		for i := range crowd {
			tell(fmt.Sprint("crowd", i), 0, nil, event("x", protocol.Normal))
		}
		act(tell)
		close(r.gate)
		synctest.Wait()
		for _, ref := range refs {
			s.Stop(ref)
		}
		s.Close()
		got = r.got
	})
	return got
}

// Promise 13: who was sent something critical goes before the crowd, also when it
// waits among it, and so do kinds that always go first.
func TestUrgentActorsGoFirst(t *testing.T) {
	got := crowded(t, &Supervisor{First: 1 << 3}, 1000, func(tell func(string, uint8, func(), ...*protocol.Envelope)) {
		tell("crowd999", 0, nil, event("alarm", protocol.Critical))
		tell("woken", 0, nil, &protocol.Envelope{EventHeader: protocol.EventHeader{Priority: protocol.Critical}, Kind: protocol.KindWake})
		tell("answered", 0, nil, &protocol.Envelope{EventHeader: protocol.EventHeader{Priority: protocol.Critical}, Kind: protocol.KindAnswer})
		tell("service", 3, nil, event("x", protocol.Low))
		tell("late", 0, nil, event("x", protocol.High))
	})
	for _, name := range []string{"crowd999", "woken", "answered", "service"} {
		if at := slices.Index(got, name); at < 0 || at > 5 {
			t.Errorf("%s ran as number %d of %d", name, at, len(got))
		}
	}
	if len(got) != 1005 || got[len(got)-1] != "late" {
		t.Errorf("%d envelopes, at last %s", len(got), got[len(got)-1])
	}
}

// Urgent actors that never rest do not keep the others from a worker.
func TestUrgentActorsShare(t *testing.T) {
	const crowd = 50
	var again [2]func()
	left := 20 * crowd
	got := crowded(t, &Supervisor{}, crowd, func(tell func(string, uint8, func(), ...*protocol.Envelope)) {
		for i := range again {
			name := fmt.Sprint("urgent", i)
			again[i] = func() {
				if left--; left > 0 {
					tell(fmt.Sprint("urgent", 1-i), 0, nil, event("x", protocol.Critical))
				}
			}
			tell(name, 0, again[i])
		}
		tell("urgent0", 0, nil, event("x", protocol.Critical))
	})
	last := 0
	for i, name := range got {
		if name != "urgent0" && name != "urgent1" {
			last = i
		}
	}
	if last > 4*crowd || len(got) < 20*crowd {
		t.Errorf("the last of the crowd ran as number %d of %d", last, len(got))
	}
}

// Promise 9: an actor that does not return keeps its worker, and nobody that the
// worker had taken with it.
func TestAStuckActorTakesNobodyAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 2})
		sup, gate, stuck := &Supervisor{}, make(chan struct{}), make(chan struct{})
		var ran atomic.Int64
		var refs []*Ref
		tell := func(act func()) {
			ref := spawn(t, s, fmt.Sprint(len(refs)), does(act), sup)
			refs = append(refs, ref)
			ref.Tell(event("x", protocol.Normal))
		}
		tell(func() { <-gate })
		tell(func() { <-gate })
		synctest.Wait()
		tell(func() { <-stuck })
		for range 2 * grab {
			tell(func() { ran.Add(1) })
		}
		close(gate)
		if synctest.Wait(); ran.Load() != 2*grab {
			t.Errorf("%d of %d ran while one of two workers is lost", ran.Load(), 2*grab)
		}
		close(stuck)
		for _, ref := range refs {
			s.Stop(ref)
		}
		s.Close()
	})
}

type does func()

func (d does) Receive(*protocol.Envelope) error { d(); return nil }
