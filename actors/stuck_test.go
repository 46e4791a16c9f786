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

// An actor that has visited another one is watched as before.
func TestStuckBehindAVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan string, 1)
		s := NewSystem(Options{Workers: 1, StuckAfter: 30 * time.Second, Stuck: func(x Stuck) func() {
			heard <- x.Receiver + " " + x.Envelope.Type
			return func() {}
		}})
		sup := &Supervisor{}
		host := &idling{}
		other := spawn(t, s, "other", sleeper{}, sup)
		host.self, host.other = spawn(t, s, "host", host, sup), other
		host.self.Tell(event("hangs", protocol.Normal))
		<-time.After(30 * time.Minute)
		synctest.Wait()
		if !host.handled || len(heard) != 1 || <-heard != "host hangs" {
			t.Errorf("visited: %v", host.handled)
		}
		s.Stop(host.self)
		s.Stop(other)
		s.Close()
	})
}

// idling visits another actor, and takes an hour.
type idling struct {
	self, other *Ref
	handled     bool
}

func (x *idling) Receive(*protocol.Envelope) error {
	x.handled = x.self.Visitor().Visit(x.other, event("wake", protocol.Normal))
	return sleeper{}.Receive(&protocol.Envelope{EventHeader: protocol.EventHeader{Time: protocol.Time(time.Hour)}})
}

// sleeper takes as long as the envelope's time.
type sleeper struct{}

// Receive implements Behavior.
func (sleeper) Receive(env *protocol.Envelope) error {
	<-time.After(time.Duration(env.Time))
	return nil
}
