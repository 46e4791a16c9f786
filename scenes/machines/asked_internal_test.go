package machines

import (
	"fmt"
	"slices"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Services are asked in the order of the table, each once: for its requests, because time passes for it, or because it
// was asked before.
func TestServicesAreAskedInTheirOrder(t *testing.T) {
	a := newAsking()
	never := func(string) bool { return false }
	if i := a.next(never); i >= 0 {
		t.Fatalf("%s is asked nothing", a.services[i].Name)
	}
	for _, to := range []string{bus.Service, knowledge.Service} {
		a.requests[a.of(to)].Add(protocol.Raw{0xc0})
	}
	for range minEarly {
		a.requests[a.of(worldstate.Service)].Add(protocol.Raw{0xc0})
	}
	a.broke = &ActorFailed{Actor: "$world"}
	if _, sent := a.sendEarly(a.of(worldstate.Service), Effect{Wave: 1}); sent {
		t.Error("a broken service is asked early")
	}
	a.broke = nil
	for place := range 2 {
		e, sent := a.sendEarly(a.of(worldstate.Service), Effect{Wave: 1})
		if !sent || !e.More || e.Place != place || len(e.Data) == 0 {
			t.Fatalf("the world is not asked early: %+v", e)
		}
		for range minEarly * (1 - place) {
			a.requests[a.of(worldstate.Service)].Add(protocol.Raw{0xc0})
		}
	}
	if _, sent := a.sendEarly(a.of(worldstate.Service), Effect{Wave: 1}); sent {
		t.Error("nothing is a message of its own")
	}
	a.requests[a.of(knowledge.Service)].Take()
	var asked []string
	for i := a.next(never); i >= 0; i = a.next(never) {
		e, failure := a.send(i, Effect{Wave: 1})
		if failure != nil || e.More || a.services[i].Name == worldstate.Service && e.Place != 2 {
			t.Errorf("%+v", e)
		}
		asked = append(asked, a.services[i].Name)
		if _, all := a.answered(&ServiceAnswered{More: true}); all {
			t.Error("a part is the whole")
		}
		if _, all := a.answered(&ServiceAnswered{}); !all {
			t.Error("the last part is not")
		}
	}
	if want := []string{worldstate.Service, bus.Service}; !slices.Equal(asked, want) {
		t.Errorf("asked are %q, want %q", asked, want)
	}
	if i := a.next(func(name string) bool { return name == knowledge.Service }); i != a.of(knowledge.Service) {
		t.Error("a service whose time has come is not asked")
	}
}

// A failure while agents deliberate is one of the service when it is asked. An answer ends the row of failures.
func TestFailuresOfServicesInARow(t *testing.T) {
	a := newAsking()
	a.broke = &ActorFailed{Actor: "$world"}
	i := a.next(func(string) bool { return false })
	if i != a.of(worldstate.Service) {
		t.Fatal("a broken service is not asked")
	}
	if _, failure := a.send(i, Effect{}); failure == nil || a.broke != nil {
		t.Error("it does not fail when it is asked")
	}
	a.parts = []protocol.KindData{{Kind: "some"}}
	for n := int64(1); n <= 2; n++ {
		if got := a.failed("$world"); got != n || !a.retry || a.parts != nil {
			t.Errorf("failure %d of %d, retry %v, kept %d", got, n, a.retry, len(a.parts))
		}
	}
	a.answered(&ServiceAnswered{})
	if got := a.failed("$world"); got != 1 {
		t.Errorf("%d failures in a row", got)
	}
}

// A service that was restored is asked everything again, in its order: also what it was asked before the turns had ended.
func TestARestoredServiceIsAskedEverythingAgain(t *testing.T) {
	s := &Stage{shared: shared{StageState: &StageState{Agenda: agenda.New(agenda.Config{})}, asking: newAsking()}}
	world := s.asking.of(worldstate.Service)
	for _, n := range []int{minEarly, minEarly, 1} {
		for range n {
			s.asking.requests[world].Add(protocol.Raw{0xc0})
		}
		s.asking.sendEarly(world, Effect{Wave: 1})
	}
	s.asking.send(world, Effect{Wave: 1})
	s.asking.failed("$world")
	s.Agenda.Wave = 1 // its state is restored from durable facts alone
	if err := s.retryService(); err != nil || len(s.effects) > 0 || !s.asking.retry {
		t.Fatalf("the service is restored before the wave is durable: %+v, %v", s.effects, err)
	}
	if err := s.waveKept(&Kept{Wave: 1}); err != nil || s.asking.retry {
		t.Fatal(err)
	}
	var again []string
	for _, e := range s.effects {
		again = append(again, fmt.Sprintf("%v %d more %v", e.Act == ActRestartService, e.Place, e.More))
	}
	if want := []string{"true 0 more false", "false 0 more true", "false 1 more true", "false 2 more false"}; !slices.Equal(again, want) {
		t.Errorf("%q, want %q", again, want)
	}
}
