package scenes

import (
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/scenes/machines"
)

// patience is how long a scene that is told to stop waits for endpoints that take no request, for their rates, and for persons.
const patience = 10 * time.Second

// stopAfterWave stops the scene after its open wave. On the virtual clock that wave waits for every answer, as long as
// an endpoint may be away or a person silent: a scene whose requests all wait for those gives the wave up. Under a budget these
// requests have cost nothing, and the log of effects says so (outside.Flight.TakeBack).
func (r *Run) stopAfterWave(reason string) {
	r.control(reason)
	if r.scene.Clock == agenda.Virtual {
		r.stops.Do(func() { go r.leaveStranded() })
	}
}

// leaveStranded gives the open wave up when, for as long as the scene has patience, it has waited for nothing but persons and
// endpoints that take no request, or requests have waited for a rate, where others come and go. First no request leaves any
// more, so that none is cut off that has just left; the wave is given up when those that are out have ended. It ends with the scene.
func (r *Run) leaveStranded() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	rated, held := false, false
	begun := time.Now()
	for since := begun; ; {
		select {
		case <-r.stage.over.Done():
			return
		case now := <-t.C:
			all, paced := r.scene.outside.Stranded()
			if paced && !rated { // it may have held requests back all the time, while the slots were taken, too
				rated, since = true, begun
			}
			switch {
			case !all && !rated && !held:
				since = now
			case now.Sub(since) < patience:
			case !held:
				r.scene.outside.Hold()
				held = true
			case all:
				r.control(string(machines.DoGiveUp))
				since = now
			}
		}
	}
}
