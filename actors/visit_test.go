package actors

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// visiting is an actor that visits others, in the order in which it is told of them.
type visiting struct {
	self    *Ref
	others  map[string]*Ref
	handled map[string]bool
}

func (v *visiting) Receive(env *protocol.Envelope) error {
	by := v.self.Visitor()
	wake := &protocol.Envelope{EventHeader: protocol.EventHeader{Type: "wake"}, Kind: protocol.KindWake}
	v.handled[env.Type] = by.Visit(v.others[env.Type], wake)
	return nil
}

// spawning is an actor that makes another one and visits it at once, as a wake does that finds an
// agent without an actor.
type spawning struct {
	self    *Ref
	system  *System
	sup     *Supervisor
	made    recorder
	ref     *Ref
	handled bool
}

func (x *spawning) Receive(env *protocol.Envelope) (err error) {
	if x.ref, err = x.system.Spawn(Spec{Name: "new", Unlisted: env.Type == "unlisted", First: &x.made, Supervisor: x.sup}); err == nil {
		x.handled = x.self.Visitor().Visit(x.ref, event("wake", protocol.Normal))
	}
	return err
}

// Promise 15: no worker has an actor that was told nothing, so it can be visited as soon as it is spawned.
func TestANewActorIsVisited(t *testing.T) {
	for _, name := range []string{"listed", "unlisted"} {
		synctest.Test(t, func(t *testing.T) {
			s := NewSystem(Options{Workers: 1})
			x := &spawning{system: s, sup: &Supervisor{}}
			x.self = spawn(t, s, "spawns", x, x.sup)
			x.self.Tell(event(name, protocol.Normal))
			synctest.Wait()
			if !x.handled || !slices.Equal(x.made.got, []string{"wake"}) {
				t.Errorf("%s: visited: %v, it handled %v", name, x.handled, x.made.got)
			}
			s.Stop(x.ref)
			s.Stop(x.self)
			s.Close()
		})
	}
}

// Promise 15: who is visited handles first what waits; one that another worker has, that failed or
// that stopped is not visited; a failure in a visit is that of the actor alone.
func TestVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 2})
		var failed []string
		sup := &Supervisor{Failed: func(name string, f *Failure) { failed = append(failed, name+": "+f.Error()) }}
		idle, busy := &recorder{}, &recorder{gate: make(chan struct{})}
		fails := &recorder{boom: map[string]func() error{"wake": func() error { return errors.New("no") }}}
		gone, first := &recorder{}, &recorder{}
		v := &visiting{handled: map[string]bool{}, others: map[string]*Ref{
			"idle": spawn(t, s, "idle", idle, sup), "busy": spawn(t, s, "busy", busy, sup), "fails": spawn(t, s, "fails", fails, sup), "gone": spawn(t, s, "gone", gone, sup),
			"first": spawn(t, s, "first", first, sup)}}
		v.self = spawn(t, s, "visits", v, sup)
		v.others["busy"].Tell(event("gate", protocol.Normal))
		s.Stop(v.others["gone"])
		synctest.Wait()
		(*mailbox)(v.others["first"]).top[delivery.Normal].push(s.cellPools.cell(event("waits", protocol.Normal), 0, delivery.Normal)) // its sender has not announced it
		(*mailbox)(v.others["first"]).count(delivery.Normal).Add(1)
		(*mailbox)(v.others["first"]).word.Or(1 << delivery.Normal)
		for _, name := range []string{"idle", "busy", "fails", "gone", "first"} {
			v.self.Tell(event(name, protocol.Normal))
		}
		synctest.Wait()
		v.self.Tell(event("fails", protocol.Normal)) // suspended now
		close(busy.gate)
		synctest.Wait()
		for name, want := range map[string]bool{"idle": true, "busy": false, "fails": false, "gone": false, "first": true} {
			if v.handled[name] != want {
				t.Errorf("%s: handled %v, want %v", name, v.handled[name], want)
			}
		}
		if want := []string{"waits", "wake"}; !slices.Equal(first.got, want) {
			t.Errorf("handled %v, want %v", first.got, want)
		}
		if want := []string{"fails: no"}; !slices.Equal(failed, want) {
			t.Errorf("failures %q, want %q", failed, want)
		}
		if want := []string{"wake"}; !slices.Equal(idle.got, want) {
			t.Errorf("handled %v, want %v", idle.got, want)
		}
		for _, ref := range v.others {
			s.Stop(ref)
		}
		s.Stop(v.self)
		s.Close()
	})
}
