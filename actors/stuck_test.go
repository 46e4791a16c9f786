package actors

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/protocol"
)

// A Receive that does not return is reported once, and once more when it is over;
// one that is only slow, or has slow ones after it, is not.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var story []string
		say := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			story = append(story, what)
		}
		said := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(story)
		}
		s := NewSystem(Options{Workers: 2, StuckAfter: 30 * time.Second, Stuck: func(x Stuck) func() {
			say(x.Receiver + " " + x.Envelope.Type)
			return func() { say(x.Receiver + " goes on") }
		}})
		sup := &Supervisor{Prefix: "s/"}
		spawn := func(name string) *Ref {
			r, err := s.Spawn(Spec{Name: name, Supervisor: sup, First: sleeper{}})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		loops, slow := spawn("s/loops"), spawn("s/slow")
		loops.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: "for_ever", Time: protocol.Time(5 * time.Minute)}})
		for range 4 {
			slow.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: "a_while", Time: protocol.Time(20 * time.Second)}})
		}
		<-time.After(29 * time.Second)
		if early := said(); len(early) > 0 {
			t.Error("too early", early)
		}
		<-time.After(20 * time.Second)
		if want := []string{"s/loops for_ever"}; !slices.Equal(said(), want) {
			t.Errorf("%q, want %q", said(), want)
		}
		<-time.After(5 * time.Minute)
		if want := []string{"s/loops for_ever", "s/loops goes on"}; !slices.Equal(said(), want) {
			t.Errorf("%q, want %q", said(), want)
		}
		s.Stop(loops)
		s.Stop(slow)
		s.Close()
	})
}

// sleeper takes as long as the envelope's time.
type sleeper struct{}

// Receive implements Behavior.
func (sleeper) Receive(env *protocol.Envelope) error {
	<-time.After(time.Duration(env.Time))
	return nil
}
