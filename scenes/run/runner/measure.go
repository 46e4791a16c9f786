package runner

import "tavernsim/internal/metrics"

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
