package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/engine/space"
)

type spaceSeries struct {
	steps prometheus.Counter
	walks closed
}

func (s *Set) makeSpace() {
	s.area = "space"
	s.space.steps = s.one("space_steps_total", "Cells, or exits, that agents walked.")
	s.space.walks = newClosed(s.counter("space_walks_total", "Walks that ended, by why; put: an agent was put elsewhere at once; refused: there was no way.", "outcome"),
		[]string{space.ReasonArrived, space.ReasonAsked, space.ReasonBlocked, space.ReasonFull, lastWord(space.FactPut), lastWord(space.FactRefused)})
}

func (s *Set) moved(f space.Fact) {
	switch x := f.(type) {
	case *space.SetOut: // its end is counted
	case *space.Moved:
		s.space.steps.Add(float64(x.Count()))
	case *space.Stopped:
		s.space.walks.inc(x.Reason)
	case *space.Put, *space.Refused:
		s.space.walks.inc(lastWord(f.FactKind()))
	}
}
