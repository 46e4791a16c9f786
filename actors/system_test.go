package actors

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	cmap "github.com/orcaman/concurrent-map"
	"go.uber.org/goleak"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// Each of the 1,024 parts of Proto.Actor's registry gets one map in place of 32: a system costs a test 0.3 ms, not 10.
func TestMain(m *testing.M) {
	cmap.SHARD_COUNT = 1
	goleak.VerifyTestMain(m)
}

// recorder remembers what it handled; texts in boom make it fail.
type recorder struct {
	mu   sync.Mutex
	got  []string
	gate chan struct{} // when set, the first envelope waits for it
	boom map[string]func() error
}

func (r *recorder) Receive(env *protocol.Envelope) error {
	if r.gate != nil && env.Type == "gate" {
		<-r.gate
	}
	if f := r.boom[env.Type]; f != nil {
		return f()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, env.Type)
	return nil
}

// each bounds every lane alike.
func each(c Capacity) (lanes [delivery.Lanes]Capacity) {
	for l := range lanes {
		lanes[l] = c
	}
	return lanes
}

func event(name string, p protocol.Priority) *protocol.Envelope {
	return &protocol.Envelope{EventHeader: protocol.EventHeader{Type: name, Priority: p}, Kind: protocol.KindEvent}
}

func spawn(t testing.TB, s *System, name string, b Behavior, sup *Supervisor) *Ref {
	t.Helper()
	ref, err := s.Spawn(Spec{Name: name, First: b, Supervisor: sup})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// Promise 3: lanes in order, wake last.
func TestLanesAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		r := &recorder{gate: make(chan struct{})}
		ref := spawn(t, s, "a", r, &Supervisor{})
		ref.Tell(event("gate", protocol.Normal))
		synctest.Wait()
		ref.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: "wake"}, Kind: protocol.KindWake})
		for _, p := range []protocol.Priority{protocol.Low, protocol.Normal, protocol.High, protocol.Critical} {
			ref.Tell(event(p.String(), p))
		}
		ref.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: "control"}, Kind: protocol.KindControl})
		close(r.gate)
		synctest.Wait()
		want := []string{"gate", "control", "critical", "high", "normal", "low", "wake"}
		if !slices.Equal(r.got, want) {
			t.Errorf("handled %v, want %v", r.got, want)
		}
		s.Stop(ref)
		s.Close()
	})
}

// Promise 3: the bound on starvation.
func TestALowerLaneGetsItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		r := &recorder{gate: make(chan struct{})}
		ref := spawn(t, s, "a", r, &Supervisor{})
		ref.Tell(event("gate", protocol.Normal))
		synctest.Wait()
		for range 20 {
			ref.Tell(event("low", protocol.Low))
		}
		ref.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: "wake"}, Kind: protocol.KindWake})
		for range 10 * StarvationBound {
			ref.Tell(event("critical", protocol.Critical))
		}
		close(r.gate)
		synctest.Wait()
		for turns := range slices.Chunk(r.got[1:1+10*StarvationBound], StarvationBound) { // both lanes are full in all of them
			if lows := len(turns) - len(slices.DeleteFunc(turns, func(what string) bool { return what == "low" })); lows != 1 {
				t.Errorf("%d low envelopes in %d turns, want 1", lows, StarvationBound)
			}
		}
		if last := r.got[len(r.got)-1]; last != "wake" {
			t.Errorf("last handled %q, want wake", last)
		}
		s.Stop(ref)
		s.Close()
	})
}

// Promise 2.
func TestOneSenderKeepsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 2})
		r := &recorder{}
		ref := spawn(t, s, "a", r, &Supervisor{})
		var senders sync.WaitGroup
		for sender := range 4 {
			senders.Go(func() {
				for i := range 500 {
					ref.Tell(event(fmt.Sprintf("%d/%03d", sender, i), protocol.Normal))
				}
			})
		}
		senders.Wait()
		synctest.Wait()
		for sender := range 4 {
			var own []string
			for _, g := range r.got {
				if g[0] == byte('0'+sender) {
					own = append(own, g)
				}
			}
			if len(own) != 500 || !slices.IsSorted(own) {
				t.Errorf("sender %d: %d envelopes, sorted %v", sender, len(own), slices.IsSorted(own))
			}
		}
		s.Stop(ref)
		s.Close()
	})
}

// Promise 5: the failed actor waits for its supervisor, keeps its queue and
// does not see the failing envelope again.
func TestAFailureSuspendsOneActor(t *testing.T) {
	for name, boom := range map[string]func() error{
		"panic": func() error { panic("kettle") },
		"error": func() error { return errors.New("kettle") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewSystem(Options{Workers: 2})
				var failures []*Failure
				sup := &Supervisor{Failed: func(name string, f *Failure) {
					if name != "a" {
						t.Errorf("%s failed", name)
					}
					failures = append(failures, f)
				}}
				first, second := &recorder{boom: map[string]func() error{"boom": boom}}, &recorder{}
				sup.New = func(kind uint8, id uint32) (Behavior, error) {
					if kind != 3 || id != 7 {
						t.Errorf("restarted as %d of kind %d, want 7 of kind 3", id, kind)
					}
					return second, nil
				}
				ref, err := s.Spawn(Spec{Name: "a", Supervisor: sup, First: first, ID: 7, Kind: 3})
				if err != nil {
					t.Fatal(err)
				}
				other := &recorder{}
				otherRef := spawn(t, s, "b", other, sup)
				for _, e := range []string{"one", "boom", "two"} {
					ref.Tell(event(e, protocol.Normal))
				}
				synctest.Wait()
				ref.Tell(event("three", protocol.Normal))
				otherRef.Tell(event("alive", protocol.Normal))
				synctest.Wait()
				if len(failures) != 1 || failures[0].Kind != protocol.KindEvent {
					t.Fatalf("failures %v, want one while handling an event", failures)
				}
				if name == "panic" && (len(failures[0].Stack) == 0 || !slices.ContainsFunc(failures[0].Stack, func(f string) bool {
					return len(f) > 7 && f[:7] == "actors."
				})) {
					t.Errorf("stack %q does not show the handler", failures[0].Stack)
				}
				if len(second.got) != 0 || !slices.Equal(other.got, []string{"alive"}) {
					t.Errorf("before the restart: restarted got %v, other got %v", second.got, other.got)
				}
				s.Restart(ref)
				synctest.Wait()
				if want := []string{"two", "three"}; !slices.Equal(second.got, want) {
					t.Errorf("after the restart: got %v, want %v", second.got, want)
				}
				s.Stop(ref)
				s.Stop(otherRef)
				s.Close()
			})
		})
	}
}

// Promise 6.
func TestWhatIsNotDeliveredIsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		dead := map[string]string{}
		sup := &Supervisor{
			Lanes: each(Capacity{Max: 3}),
			Middleware: delivery.Chain{delivery.Func(func(m delivery.Message, v delivery.Verdict) delivery.Verdict {
				if m.Type == "unwanted" {
					return v.Drop("refused")
				}
				return v
			})},
		}
		s := NewSystem(Options{Workers: 1, DeadLetter: func(d DeadLetter) {
			mu.Lock()
			defer mu.Unlock()
			dead[d.Type] = d.Reason
		}})
		r := &recorder{gate: make(chan struct{})}
		ref := spawn(t, s, "a", r, sup)
		ref.Tell(event("gate", protocol.Normal))
		synctest.Wait()
		for _, e := range []string{"unwanted", "q1", "q2", "q3", "full"} {
			ref.Tell(event(e, protocol.Normal))
		}
		s.Stop(ref)
		close(r.gate)
		synctest.Wait()
		ref.Tell(event("late", protocol.Normal))
		want := map[string]string{"unwanted": "refused", "full": "queue_full", "q1": "stopped", "q2": "stopped", "q3": "stopped", "late": "stopped"}
		if fmt.Sprint(dead) != fmt.Sprint(want) {
			t.Errorf("dead letters %v, want %v", dead, want)
		}
		s.Close()
	})
}

func TestSpawnRefusesASecondActorOfTheSameName(t *testing.T) {
	s := NewSystem(Options{})
	defer s.Close()
	ref := spawn(t, s, "a", &recorder{}, &Supervisor{})
	defer s.Stop(ref)
	_, err := s.Spawn(Spec{Name: "a", First: &recorder{}, Supervisor: &Supervisor{}})
	if protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("got %v, want a conflict", err)
	}
}

// An unlisted actor is supervised and stopped like any other, under its name, and another of the
// name may be there before the last has stopped.
func TestUnlistedActors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 2})
		var failed []string
		sup := &Supervisor{Prefix: "p/", Name: func(uint8, uint32) string { return "a" }, Failed: func(name string, _ *Failure) { failed = append(failed, name) }}
		last := &recorder{gate: make(chan struct{})}
		sup.New = func(uint8, uint32) (Behavior, error) { return last, nil }
		var refs []*Ref
		for range 2 {
			r := &recorder{gate: make(chan struct{})}
			ref, err := s.Spawn(Spec{Unlisted: true, First: r, Supervisor: sup})
			if err != nil {
				t.Fatal(err)
			}
			ref.Tell(event("gate", protocol.Normal))
			synctest.Wait()
			for range 2 {
				s.Stop(ref) // while it handles an envelope
			}
			s.Restart(ref)
			close(r.gate)
			refs = append(refs, ref)
		}
		sup.Wait()      // each has ended once
		s.Stop(refs[0]) // which is gone
		ref, err := s.Spawn(Spec{Unlisted: true, First: failing{}, Supervisor: sup})
		if err != nil {
			t.Fatal(err)
		}
		ref.Tell(event("x", protocol.Normal))
		ref.Tell(event("y", protocol.Normal))
		synctest.Wait()
		if fmt.Sprint(failed) != "[p/a]" || ref.Waiting() != 1 {
			t.Errorf("failed: %v; %d wait", failed, ref.Waiting())
		}
		s.Restart(ref)
		synctest.Wait()
		if fmt.Sprint(last.got) != "[y]" {
			t.Errorf("after the restart it heard %v", last.got)
		}
		s.Stop(ref)
		s.Close()
	})
}

// An unlisted actor that has nothing to do goes on as another: it has the other's id, name and behaviour, and its
// worker. One that is at something, or has something to do, or is suspended or gone, is not given away.
func TestPassedActors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		var failed []string
		sup := &Supervisor{Prefix: "p/", Name: func(_ uint8, id uint32) string { return fmt.Sprint("a", id) }, Failed: func(name string, f *Failure) { failed = append(failed, name) }}
		busy := &recorder{gate: make(chan struct{})}
		ref, err := s.Spawn(Spec{Unlisted: true, First: busy, Supervisor: sup, ID: 1})
		if err != nil {
			t.Fatal(err)
		}
		never := func(Behavior) Behavior {
			t.Error("it was given away")
			return nil
		}
		ref.Tell(event("gate", protocol.Normal))
		synctest.Wait()
		if s.Pass(ref, 2, never) {
			t.Error("a worker had it")
		}
		close(busy.gate)
		synctest.Wait()
		if !s.Pass(ref, 2, func(last Behavior) Behavior {
			if last != busy {
				t.Errorf("the last behaviour is %v", last)
			}
			return failing{}
		}) {
			t.Fatal("it was not given away")
		}
		ref.Tell(event("x", protocol.Normal))
		synctest.Wait()
		if s.Pass(ref, 3, never) || fmt.Sprint(failed) != "[p/a2]" {
			t.Errorf("failed: %v, or a suspended actor was given away", failed)
		}
		s.Stop(ref)
		if s.Pass(ref, 3, never) {
			t.Error("it had stopped")
		}
		listed := spawn(t, s, "p/b", &recorder{}, sup)
		if s.Pass(listed, 3, never) {
			t.Error("it is listed under its name")
		}
		s.Stop(listed)
		s.Close()
	})
}

// An unlisted actor that no worker has ends in the call of Stop: what waits are dead letters, once.
func TestUnlistedActorsEndInTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dead []string
		s := NewSystem(Options{Workers: 1, DeadLetter: func(d DeadLetter) { dead = append(dead, d.Type+" "+d.Reason) }})
		last := &stopping{}
		sup := &Supervisor{Name: func(uint8, uint32) string { return "a" }, Failed: func(string, *Failure) {}}
		ref, err := s.Spawn(Spec{Unlisted: true, First: last, Supervisor: sup})
		if err != nil {
			t.Fatal(err)
		}
		ref.Tell(event("fails", protocol.Normal))
		ref.Tell(event("waits", protocol.Normal))
		synctest.Wait()
		s.Stop(ref)
		s.Stop(ref)
		sup.Wait()
		ref.Tell(event("late", protocol.Normal))
		if want := "[waits stopped late stopped]"; fmt.Sprint(dead) != want || last.stopped != 1 {
			t.Errorf("dead letters %v, want %s; it was told %d times that it has stopped", dead, want, last.stopped)
		}
		s.Close()
	})
}

type stopping struct {
	failing
	stopped int
}

func (s *stopping) Stopped() { s.stopped++ }

type failing struct{}

func (failing) Receive(*protocol.Envelope) error { return fmt.Errorf("no") }
