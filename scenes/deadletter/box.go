// Package deadletter collects the envelopes that the mailboxes of a scene refused,
// until the scene makes facts of them.
//
// You hold a [Box]. Mailboxes put letters in, from any goroutine, and the scene
// takes them out when it closes a wave. In a storm the box counts letters instead of
// storing them: see [MaxTold] and [MaxGroups].
//
// # Not here
//
// Metrics, which count every letter at once (scenes/runner); refusals of the event
// channel, which are already facts (event.refused).
package deadletter

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"tavernsim/actors"
	"tavernsim/engine/director"
)

// Bounds of what one wave tells. Letters beyond MaxTold are counted by reason,
// kind and type; groups beyond MaxGroups by nothing.
const (
	MaxTold   = 100
	MaxGroups = 100
)

// ReasonOther is that of letters counted beyond MaxGroups.
const ReasonOther = "other"

type group struct{ reason, kind, eventType string }

// Box is ready to use.
type Box struct {
	waiting atomic.Bool // Take looks here first: a healthy scene has no letters
	mu      sync.Mutex
	told    []*director.DeadLettered
	groups  map[group]int64
}

// Add takes a letter. What a stopped actor leaves is none: its scene has ended.
func (b *Box) Add(d actors.DeadLetter) {
	if d.Reason == actors.ReasonStopped {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Store(true)
	if len(b.told) < MaxTold {
		b.told = append(b.told, &director.DeadLettered{Event: d.ID, Type: d.Type, Reason: d.Reason, Chain: d.Chain,
			Receiver: d.Receiver, Kind: d.Kind.String(), TraceID: d.TraceID, Count: 1})
		return
	}
	b.count(group{d.Reason, d.Kind.String(), d.Type})
}

func (b *Box) count(g group) {
	if b.groups == nil {
		b.groups = map[group]int64{}
	}
	if _, known := b.groups[g]; !known && len(b.groups) >= MaxGroups {
		g = group{reason: ReasonOther}
	}
	b.groups[g]++
}

// Take empties the box: letters by receiver and event, then the counts. Which
// letters are told when there are too many depends on timing.
func (b *Box) Take() []*director.DeadLettered {
	if !b.waiting.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Store(false)
	facts := b.told
	for g, n := range b.groups {
		facts = append(facts, &director.DeadLettered{Reason: g.reason, Kind: g.kind, Type: g.eventType, Count: n})
	}
	b.told, b.groups = nil, nil
	slices.SortStableFunc(facts, func(x, y *director.DeadLettered) int {
		return cmp.Or(cmp.Compare(boolean(x.Event == ""), boolean(y.Event == "")), cmp.Compare(x.Receiver, y.Receiver),
			cmp.Compare(len(x.Event), len(y.Event)), cmp.Compare(x.Event, y.Event),
			cmp.Compare(x.Reason, y.Reason), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Type, y.Type))
	})
	return facts
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
