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

type ending interface {
	endUntil(time.Time)
	running() bool
}

// add notes a keeper, when it is made and with each session that it opens.
func (g *Group) add(k ending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keepers = append(slices.DeleteFunc(g.keepers, func(o ending) bool { return o == k }), k)
}

// Close ends all sessions; it returns when nothing is left of them. They have so long to end by
// themselves, together: each its part of the time that those before it have left over. One that
// does not end in its part is ended while the next ones have theirs.
func (g *Group) Close(grace time.Duration) {
	g.mu.Lock()
	list := slices.Clone(g.keepers)
	g.mu.Unlock()
	end := time.Now().Add(grace)
	var all sync.WaitGroup
	for i, k := range slices.Backward(list) {
		left := 0
		for _, o := range list[:i+1] {
			if o.running() {
				left++
			}
		}
		until := time.Now().Add(time.Until(end) / time.Duration(max(1, left)))
		ended, late := make(chan struct{}), time.NewTimer(time.Until(until))
		all.Go(func() { k.endUntil(until); close(ended) })
		select {
		case <-ended:
		case <-late.C:
		}
		late.Stop()
	}
	all.Wait()
}
