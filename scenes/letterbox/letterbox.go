// Package letterbox collects the envelopes that the mailboxes of a scene refused, for the stage to
// record as facts.
package letterbox

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/scenes/machines/letters"
)

// Box takes letters from any goroutine. The stage takes them out with its next input and makes facts of
// them. In a storm the box counts letters instead of storing them. The zero value is ready.
type Box struct {
	waiting atomic.Bool // Take looks here first: a healthy scene has no letters
	mu      sync.Mutex
	letters letters.List
}

// Add takes a letter. Messages to a stopped actor are no dead letters, because its
// scene has ended.
func (b *Box) Add(d actors.DeadLetter) {
	if d.Reason == actors.ReasonStopped {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Store(true)
	b.letters.Add(&agenda.DeadLettered{Event: d.ID, Type: d.Type, Reason: d.Reason, Chain: d.Chain,
		Receiver: d.Receiver, Kind: d.Kind.String(), TraceID: d.TraceID, Count: 1})
}

// Take empties the box: letters sorted by receiver and event, then the groups. If
// there are too many letters, timing decides which are counted only.
func (b *Box) Take() []*agenda.DeadLettered {
	if !b.waiting.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Store(false)
	facts := b.letters
	b.letters = nil
	slices.SortStableFunc(facts, func(x, y *agenda.DeadLettered) int {
		return cmp.Or(cmp.Compare(min(1, len(y.Receiver)), min(1, len(x.Receiver))), cmp.Compare(min(1, len(y.Event)), min(1, len(x.Event))), cmp.Compare(x.Receiver, y.Receiver),
			cmp.Compare(len(x.Event), len(y.Event)), cmp.Compare(x.Event, y.Event),
			cmp.Compare(x.Reason, y.Reason), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Type, y.Type))
	})
	return facts
}
