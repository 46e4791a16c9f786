package machines

import (
	"testing"

	"tavernsim/scenes/machines/span"
	"tavernsim/scenes/machines/spending"
)

// A wave takes ended turns for the agents that stand at their place of its order and were woken, each once; a failure
// also of an agent that was not woken yet.
func TestAWaveTakesTheTurnsOfItsOrder(t *testing.T) {
	for name, c := range map[string]struct {
		place  int
		agents []uint32 // whose turns ended; none = the agent at the place failed
		agent  uint32
		want   bool
	}{
		"one":                     {place: 1, agents: []uint32{7}, agent: 7, want: true},
		"neighbours":              {place: 1, agents: []uint32{7, 5}, agent: 7, want: true},
		"no neighbours":           {place: 1, agents: []uint32{7, 9}, agent: 7},
		"in another order":        {place: 1, agents: []uint32{7, 4}, agent: 7},
		"merged before":           {place: 0, agents: []uint32{4}, agent: 4},
		"one was not woken":       {place: 2, agents: []uint32{5, 9}, agent: 5},
		"failed":                  {place: 2, agent: 5, want: true},
		"failed before its wake":  {place: 3, agent: 9, want: true},
		"failed behind its turn":  {place: 0, agent: 4},
		"of another wave":         {place: 1, agent: 5},
		"beyond the order it has": {place: 4, agent: 5},
	} {
		w := &wave{order: []uint32{4, 7, 5, 9}, sent: 3, merged: 1, answers: make([]arrival, 4)}
		a := arrival{agent: c.agent, failure: &ActorFailed{}}
		if c.agents != nil {
			a.failure, a.span = nil, &span.Span{}
			for _, o := range c.agents {
				a.span.Turns = append(a.span.Turns, span.Turn{Agent: o})
			}
		}
		if got := w.answer(a, c.place); got != c.want || got != (c.place < 4 && w.answers[min(c.place, 3)].there()) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Neighbours that have not failed are woken with one effect, unless there are budgets: then each turn has a share of its own.
func TestWhoIsWokenTogether(t *testing.T) {
	for _, c := range []struct {
		sent, end, failed, want int // failed: the place of an agent that failed, 0 = none
		book                    *spending.Book
	}{
		{end: 4, want: 4},
		{end: 3, want: 3},
		{sent: 1, end: 4, want: 3},
		{end: 4, failed: 2, want: 2},
		{end: 4, want: 1, book: &spending.Book{}},
	} {
		w := &wave{record: record{shared: &shared{StageState: &StageState{Spending: c.book}}}, order: []uint32{4, 7, 5, 9}, sent: c.sent, answers: make([]arrival, 4)}
		if c.failed > 0 {
			w.answers[c.failed].failure = &ActorFailed{}
		}
		if got := w.together(c.end); got != c.want {
			t.Errorf("%+v: %d together", c, got)
		}
	}
}
