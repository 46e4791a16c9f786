package scenes

import (
	"tavernsim/engine/bus"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// filters says in the log which filters of subscriptions fail.
type filters struct {
	*scene
	warned map[string]bool // filters that the log has named
}

func (s *scene) filters() *filters { return &filters{scene: s, warned: map[string]bool{}} }

// maxFilters bounds the failing filters that the log names; all are counted.
const maxFilters = 20

// failed counts filters that failed, and says so the first time.
func (s *filters) failed(list []bus.FilterFailure) {
	for _, f := range list {
		s.metrics.FilterFailed(f.Kind == protocol.KindLimit)
		if s.warned[f.Filter] || len(s.warned) == maxFilters {
			continue
		}
		s.warned[f.Filter] = true
		s.log.Warn("a filter condition fails; where it fails it does not match", "scene", s.ID, "filter", f.Filter, "event", f.EventID, "err", f.Error)
	}
}

// deliver hands one shared envelope of each event to every receiver. It comes
// when all is decided, so that nothing can fail between two deliveries, and
// before the scene hears of the end: whoever is woken next has them.
func (s *scene) deliver(wave uint64, routed []*bus.Routed) {
	for i, f := range routed {
		event := f.Event(s.ID).Envelope
		event.Wave, event.Place = wave, uint32(i)
		for o := range f.Receivers.All() {
			s.refs[o].Tell(event.At(machines.PriorityFor(f, s.Scene, o)))
		}
	}
}
