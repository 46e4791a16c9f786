package scenes

import (
	"tavernsim/engine/bus"
	"tavernsim/protocol"
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
