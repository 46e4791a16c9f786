package runner

import (
	"tavernsim/actors"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
)

// watch has a source read at each scrape until the run is closed.
func (r *Runner) watch(src metrics.Sources) {
	r.unwatch = append(r.unwatch, r.metrics.Watch(src))
}

// stopWatching returns when no scrape reads a source of the run any more.
func (r *Runner) stopWatching() {
	for _, stop := range r.unwatch {
		stop()
	}
	r.unwatch = nil
}

// measureDead counts an envelope that no mailbox took.
func (r *Runner) measureDead(d actors.DeadLetter) {
	r.metrics.DeadLetter(d.Kind)
	if d.Kind == protocol.KindEvent {
		r.metrics.Dropped(d.Reason)
	}
}
