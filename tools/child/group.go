package child

import (
	"slices"
	"sync"
	"time"
)

// Group ends the sessions of several keepers one after the other, the one that was opened last
// first: it may need the others for its end. The zero value is ready.
type Group struct {
	mu      sync.Mutex // guards keepers
	keepers []ending   // in the order in which they opened their sessions; first those that have none
}

type ending interface{ endUntil(time.Time) }

// add notes a keeper, when it is made and with each session that it opens.
func (g *Group) add(k ending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keepers = append(slices.DeleteFunc(g.keepers, func(o ending) bool { return o == k }), k)
}

// Close ends all sessions; it returns when nothing is left of them. They have so long to end by
// themselves, together; who is not asked until then is ended at once, beside the others.
func (g *Group) Close(grace time.Duration) {
	g.mu.Lock()
	list := slices.Clone(g.keepers)
	g.mu.Unlock()
	end := time.Now().Add(grace)
	var late sync.WaitGroup
	for _, k := range slices.Backward(list) {
		if time.Now().Before(end) {
			k.endUntil(end)
		} else {
			late.Go(func() { k.endUntil(end) })
		}
	}
	late.Wait()
}
