package turns

import (
	"maps"
	"slices"
)

// Part names the order in what agents deliberate against (agent.Wake.View).
const Part = "turns"

// Shown is where an order stands between two waves, as agents and expressions see it. It is
// immutable.
type Shown struct {
	Policy  Policy
	Round   int64 // the number of the round that runs, or of the next one
	Turn    int64 // of the round; 0 = none was given in it yet
	Rounds  int64 // after which it is over; 0 = it goes on
	Over    bool
	Loose   bool     // nobody waits for a turn
	Holders []uint32 // who has a turn, by ordinal

	rules *Rules
	name  func(uint32) string
}

// Shown is the order as it stands. name gives instance ids.
func (s *State) Shown(name func(uint32) string) *Shown {
	v := &Shown{Policy: s.rules.Policy, Round: s.Round(), Turn: s.turn, Rounds: s.rules.Rounds, Over: s.Over(), Loose: s.Loose() || !s.rules.Gates(), rules: s.rules, name: name}
	if s.phase != running {
		v.Turn = 0
	}
	for i := range s.grants {
		if s.grants[i].Left > 0 {
			v.Holders = append(v.Holders, s.grants[i].Agent)
		}
	}
	slices.Sort(v.Holders)
	return v
}

// Round is the number of the round that runs, or of the next one: after the last of rounds it
// is one more.
func (s *State) Round() int64 {
	if s.phase == running {
		return s.round
	}
	return s.round + 1
}

// Mine reports whether an agent has a turn, or needs none.
func (v *Shown) Mine(o uint32) bool {
	if v.Loose || !v.rules.Member(o) {
		return true
	}
	_, has := slices.BinarySearch(v.Holders, o)
	return has
}

// holder is the only agent that has a turn; nil = nobody has, or several have.
func (v *Shown) holder() any {
	if len(v.Holders) != 1 {
		return nil
	}
	return v.name(v.Holders[0])
}

// Told is what an agent reads of the order: scene.turn.
func (v *Shown) Told(o uint32) map[string]any {
	return map[string]any{"policy": string(v.Policy), "round": v.Round, "turn": v.Turn, "rounds": v.Rounds, "over": v.Over, "holder": v.holder(), "mine": v.Mine(o)}
}

// Value is what expressions of the scene read: round.
func (v *Shown) Value() map[string]any {
	return map[string]any{"number": v.Round, "turn": v.Turn, "rounds": v.Rounds, "over": v.Over, "holder": v.holder()}
}

// Seen is the core input scene of an agent that deliberates against a view: what the script
// of the scene says, and whose turn it is.
func Seen(view interface{ Shown(part string) any }, o uint32) any {
	scene := view.Shown("scene")
	order, ok := view.Shown(Part).(*Shown)
	if !ok {
		return scene
	}
	said, _ := scene.(map[string]any)
	with := map[string]any{"turn": order.Told(o)}
	maps.Copy(with, said)
	return with
}
