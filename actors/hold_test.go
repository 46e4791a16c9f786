package actors

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tavernsim/protocol"
)

// Promise 14: of a supervisor that is held only those run who go before others;
// one that is made urgent leaves those who stand aside, and these go on in their
// order. Actors of another supervisor are not concerned.
func TestHeldActorsStandAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		r := &runs{}
		sup, other := &Supervisor{First: 1 << 3}, &Supervisor{}
		refs := map[string]*Ref{}
		for name, under := range map[string]*Supervisor{"a": sup, "b": sup, "c": sup, "d": sup, "other": other} {
			refs[name] = spawn(t, s, name, &named{name: name, runs: r}, under)
		}
		service, err := s.Spawn(Spec{Name: "service", Kind: 3, Supervisor: sup, First: &named{name: "service", runs: r}})
		if err != nil {
			t.Fatal(err)
		}
		want := func(names ...string) {
			t.Helper()
			if synctest.Wait(); !slices.Equal(r.got, names) {
				t.Fatalf("ran %v, want %v", r.got, names)
			}
			r.got = nil
		}
		synctest.Wait() // they have started
		sup.PauseOrdinary()
		sup.PauseOrdinary()
		service.Tell(event("x", protocol.Low)) // before the other, which a worker may take at once
		for _, name := range []string{"d", "a", "b", "c", "other"} {
			refs[name].Tell(event("x", protocol.High))
		}
		want("service", "other")
		refs["a"].Tell(event("x", protocol.Critical))
		want("a", "a")
		refs["a"].Tell(event("x", protocol.Normal))
		s.Stop(refs["c"]) // returns when it has stopped
		want()
		sup.ResumeOrdinary()
		want("d", "a", "b")
		refs["d"].Tell(event("x", protocol.Low))
		want("d")
		sup.ResumeOrdinary()
		for name, ref := range refs {
			if name != "c" {
				s.Stop(ref)
			}
		}
		s.Stop(service)
		s.Close()
	})
}

// Promises 11 and 14: whoever sends, holds and lets go meanwhile, in the end
// everything was handled, and urgent things without waiting for it.
func TestHoldLosesNothing(t *testing.T) {
	s := NewSystem(Options{Workers: 3})
	sup := &Supervisor{}
	refs := make([]*Ref, 8)
	var handled atomic.Int64
	for i := range refs {
		refs[i] = spawn(t, s, fmt.Sprint(i), &tally{&handled}, sup)
	}
	const rounds = 2000
	done := make(chan struct{})
	for g := range uint64(3) {
		go func() {
			defer func() { done <- struct{}{} }()
			chance := rand.New(rand.NewPCG(g, 0))
			for range rounds {
				refs[chance.IntN(len(refs))].Tell(event("x", protocol.Low+protocol.Priority(chance.IntN(4))))
				switch chance.IntN(8) {
				case 0:
					sup.PauseOrdinary()
				case 1:
					sup.ResumeOrdinary()
				}
			}
		}()
	}
	for range 3 {
		<-done
	}
	sup.ResumeOrdinary()
	for handled.Load() < 3*rounds {
		runtime.Gosched()
	}
	sup.PauseOrdinary()
	for _, ref := range refs {
		ref.Tell(event("x", protocol.Low))
		s.Stop(ref)
	}
	s.Close()
}

type tally struct{ n *atomic.Int64 }

func (c *tally) Receive(*protocol.Envelope) error { c.n.Add(1); return nil }
