package budget

import (
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Kept is the kept state of one ledger.
type Kept struct {
	Name    string
	Day     int64  // of Used: days since 1970, of a daily window
	Used    Amount // in this window
	Total   Amount // in all of them
	Saved   Amount // that recorded answers would have cost
	Refused int64  // requests
	Changed int64  // requests that another model answered
}

// Line is a ledger for people.
type Line struct {
	Kept
	Limits
	Reserved Amount
}

// Left is what is left, of the units that have a limit; -1 = it has none.
func (l *Line) Left() Amount {
	left := func(limit, used, reserved int64) int64 {
		if limit <= 0 {
			return -1
		}
		return max(limit-used-reserved, 0)
	}
	return Amount{
		left(l.Tokens, l.Used.Tokens, l.Reserved.Tokens), left(l.Calls, l.Used.Calls, l.Reserved.Calls), left(l.Nano, l.Used.Nano, l.Reserved.Nano),
		left(l.Micro, l.Used.Micro, 0), left(l.Bytes, l.Used.Bytes, 0),
	}
}

// Lines are the ledgers, the widest first; of agents those that had something to count.
func (t *Tree) Lines() (lines []Line) {
	for _, l := range t.sorted() {
		if l != t.all {
			lines = append(lines, l.line())
		}
	}
	return lines
}

// Wide are those of run, scene and endpoints, at a time.
func (t *Tree) Wide(at protocol.Time) (lines []Line) {
	for _, l := range []*ledger{t.run, t.scene, t.tools} {
		if l != nil {
			lines = append(lines, l.line())
		}
	}
	for _, name := range protocol.SortedKeys(t.endpoints) {
		lines = append(lines, t.endpoints[name].line())
	}
	for i := range lines {
		if l := &lines[i]; l.Daily && DayOf(at) > l.Day {
			l.Used = Amount{}
		}
	}
	return lines
}

func (l *ledger) line() Line {
	line := Line{Kept: l.Kept, Limits: *l.Limits, Reserved: l.reserved}
	line.Used = l.Used.Plus(l.spent)
	return line
}

func (t *Tree) sorted() (list []*ledger) {
	for _, l := range []*ledger{t.all, t.run, t.scene, t.tools} {
		if l != nil {
			list = append(list, l)
		}
	}
	for _, name := range protocol.SortedKeys(t.endpoints) {
		list = append(list, t.endpoints[name])
	}
	for _, id := range protocol.SortedKeys(t.profiles) {
		list = append(list, t.profiles[id])
	}
	var ordinals []uint32
	for o := range t.agents {
		ordinals = append(ordinals, o)
	}
	slices.Sort(ordinals)
	for _, o := range ordinals {
		list = append(list, t.agents[o])
	}
	return list
}

// Kept is what a snapshot keeps, in a fixed order.
func (t *Tree) Kept() (kept []Kept) {
	for _, l := range t.sorted() {
		if l.Total != (Amount{}) || l.Saved != (Amount{}) || l.Refused+l.Changed > 0 {
			kept = append(kept, l.Kept)
		}
	}
	return kept
}

// Restore takes the ledgers of a snapshot. Those that have no limit any more are dropped;
// a run that had none before begins with what its scene has.
func (t *Tree) Restore(kept []Kept) {
	for _, k := range kept {
		if k.Name == OfScene && t.run != nil && t.run.Total == (Amount{}) {
			t.run.Kept = k
			t.run.Name = OfRun
		}
		if l := t.named(k.Name); l != nil {
			l.Kept = k
		}
	}
}

func (t *Tree) named(name string) *ledger {
	switch kind, id, _ := strings.Cut(name, ":"); kind + ":" {
	case OfEndpoint:
		return t.endpoints[id]
	case OfProfile:
		return t.profiles[id]
	case OfAgent:
		if o, ok := t.cfg.Cast.Ordinal(id); ok {
			return t.path(o)[ofAgent]
		}
	case OfAll + ":":
		return t.all
	case OfRun + ":":
		return t.run
	case OfScene + ":":
		return t.scene
	case OfTools + ":":
		return t.tools
	}
	return nil
}
