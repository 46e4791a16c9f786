package scenes

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
)

// Bounds of the dead letters of one wave. Letters beyond maxLetters are counted by
// reason, kind and type; those beyond maxLetterGroups groups are counted together.
const (
	maxLetters      = 100
	maxLetterGroups = 100
)

// reasonOther is the reason of letters that are counted beyond maxLetterGroups.
const reasonOther = "other"

type letterGroup struct{ reason, kind, eventType string }

// deadLetters collects the envelopes that the mailboxes of a scene refused, from any
// goroutine. The stage takes them out when it closes a wave and makes facts of them.
// In a storm the box counts letters instead of storing them. The zero value is ready.
type deadLetters struct {
	waiting atomic.Bool // take looks here first: a healthy scene has no letters
	mu      sync.Mutex
	told    []*agenda.DeadLettered
	groups  map[letterGroup]int64
}

// add takes a letter. Messages to a stopped actor are no dead letters, because its
// scene has ended.
func (b *deadLetters) add(d actors.DeadLetter) {
	if d.Reason == actors.ReasonStopped {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Store(true)
	if len(b.told) < maxLetters {
		b.told = append(b.told, &agenda.DeadLettered{Event: d.ID, Type: d.Type, Reason: d.Reason, Chain: d.Chain,
			Receiver: d.Receiver, Kind: d.Kind.String(), TraceID: d.TraceID, Count: 1})
		return
	}
	b.count(letterGroup{d.Reason, d.Kind.String(), d.Type})
}

func (b *deadLetters) count(g letterGroup) {
	if b.groups == nil {
		b.groups = map[letterGroup]int64{}
	}
	if _, known := b.groups[g]; !known && len(b.groups) >= maxLetterGroups {
		g = letterGroup{reason: reasonOther}
	}
	b.groups[g]++
}

// take empties the box: letters sorted by receiver and event, then the counts. If
// there are too many letters, timing decides which are counted only.
func (b *deadLetters) take() []*agenda.DeadLettered {
	if !b.waiting.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Store(false)
	facts := b.told
	for g, n := range b.groups {
		facts = append(facts, &agenda.DeadLettered{Reason: g.reason, Kind: g.kind, Type: g.eventType, Count: n})
	}
	b.told, b.groups = nil, nil
	slices.SortStableFunc(facts, func(x, y *agenda.DeadLettered) int {
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
