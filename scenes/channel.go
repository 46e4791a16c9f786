package scenes

import (
	"tavernsim/engine/bus"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// filters counts the filters of subscriptions that fail, and names them in the log.
type filters struct {
	*scene
	warned map[string]bool // filters that are named in the log
}

func (s *scene) filters() *filters { return &filters{scene: s, warned: map[string]bool{}} }

// maxFilters bounds the filters that are named in the log; all failures are counted.
const maxFilters = 20

// failed counts filters that failed, and logs each the first time.
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

// deliver sends one shared envelope of each event to every receiver. The service calls
// it after its last decision, so that no failure comes between two deliveries, and
// before it answers the stage, so that an agent gets its events before its next wake.
func (s *scene) deliver(wave uint64, routed []*bus.Routed) {
	for i, f := range routed {
		event := f.Event(s.ID).Envelope
		event.Wave, event.Place = wave, uint32(i)
		for o := range f.Receivers.All() {
			s.refs[o].Tell(event.At(machines.PriorityFor(f, s.Scene, o)))
		}
	}
}
