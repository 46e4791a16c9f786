// Package letters bounds the number of dead letters of a wave that have a fact each.
package letters

import "tavernsim/engine/agenda"

// Bounds of the dead letters of a wave. The first are told one by one. The others are
// counted by reason, kind and type, and together beyond so many groups.
const (
	Max       = 200
	MaxGroups = 100
)

// ReasonOther is the reason of the letters that are counted together.
const ReasonOther = "other"

type letterGroup struct{ reason, kind, eventType string }

// List is the dead letters of a wave, or of a part of it; the groups stand behind
// the letters that are told. The zero value is ready.
type List []*agenda.DeadLettered

// Add adds a letter, or a group of them.
func (l *List) Add(f *agenda.DeadLettered) {
	if len(*l) < Max {
		*l = append(*l, f)
		return
	}
	l.group(letterGroup{f.Reason, f.Kind, f.Type}).Count += max(1, f.Count)
}

// group finds a group, or begins it.
func (l *List) group(g letterGroup) *agenda.DeadLettered {
	for _, x := range (*l)[Max:] {
		if g == (letterGroup{x.Reason, x.Kind, x.Type}) {
			return x
		}
	}
	if other := (letterGroup{reason: ReasonOther}); g != other && len(*l) >= Max+MaxGroups {
		return l.group(other)
	}
	x := &agenda.DeadLettered{Reason: g.reason, Kind: g.kind, Type: g.eventType}
	*l = append(*l, x)
	return x
}
