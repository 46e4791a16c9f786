package away_test

import (
	"testing"

	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/models/away"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

// The first endpoint that is asked stops the run, once; nothing passes its gate.
func TestTheFirstStopsTheRun(t *testing.T) {
	known := &price.Price{}
	e := away.New(map[string]*price.Price{"thinker": known})
	asked := make(chan string, 3)
	over := e.Watch(func(name string) { asked <- name })
	m, cost := e.Model("cloud", "thinker")
	other, unknown := e.Model("elsewhere", "lonely")
	if cost != known || unknown != nil || m.Name() != "cloud" {
		t.Errorf("%v, %v, %s", cost, unknown, m.Name())
	}
	q := &protocol.ModelRequest{}
	g, _ := gate.Of(m).Gate(q)
	if why, _, _ := g.Stalled(); why == "" {
		t.Error("the gate is open")
	}
	if name := <-asked; name != "cloud" {
		t.Error(name)
	}
	gate.Of(other).Gate(q)
	if again, _ := gate.Of(m).Gate(q); again != g {
		t.Error("another gate")
	}
	if name := over(); name != "cloud" || len(asked) > 0 {
		t.Errorf("%q, %d more", name, len(asked))
	}
	if _, err := m.Complete(t.Context(), q, nil); llm.OutcomeOf(err) != llm.OutcomeUnavailable {
		t.Error(err)
	}
}

// A run that asks none, or lacks none, is not stopped.
func TestNobodyAsks(t *testing.T) {
	for _, e := range []*away.Endpoints{nil, away.New(nil)} {
		if name := e.Watch(func(string) { t.Error("stopped") })(); name != "" {
			t.Error(name)
		}
	}
}
