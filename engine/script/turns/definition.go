package turns

import (
	"fmt"
	"slices"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// Policy says who is next.
type Policy string

// The policies.
const (
	Free         Policy = "free"         // whoever is due
	RoundRobin   Policy = "round_robin"  // one after the other
	Initiative   Policy = "initiative"   // in descending order of a number
	Director     Policy = "director"     // whom a director gives the turn
	Simultaneous Policy = "simultaneous" // all in one wave
)

// Policies lists them.
func Policies() []string {
	return []string{string(Free), string(RoundRobin), string(Initiative), string(Director), string(Simultaneous)}
}

// Bounds.
const (
	MaxParticipants = 100_000
	MaxTurns        = 1000 // of one grant
)

// Words of fields.
const (
	EachRound = "round" // reroll: a number is drawn for each round
	OneScene  = "scene" // reroll: a number is drawn once

	Skip    = "skip"    // on_timeout: the turn is lost
	Forfeit = "forfeit" // on_timeout: the turn and all later ones are lost
	Play    = "play"    // on_timeout: not there yet

	Critical = "critical" // interject

	Wait = "wait" // fallback: the director is waited for on
)

// Turns is the block turns of a scene.
type Turns struct {
	Policy       Policy            `json:"policy"`
	Participants []string          `json:"participants,omitempty"` // selectors
	Order        []string          `json:"order,omitempty"`        // selectors
	By           string            `json:"by,omitempty"`
	Reroll       string            `json:"reroll,omitempty"`
	PerTurn      int64             `json:"per_turn,omitempty"`
	TimeLimit    protocol.Duration `json:"time_limit,omitempty"`
	OnTimeout    string            `json:"on_timeout,omitempty"`
	Interject    string            `json:"interject,omitempty"`
	Rounds       int64             `json:"rounds,omitempty"`
	Fallback     string            `json:"fallback,omitempty"`
}

// Fault is what is wrong with a field of a definition.
type Fault struct{ Field, Message, Hint string }

// roots are what by reads.
func roots() []string { return []string{"agent", "world", "roll"} }

// Faults lists the fields that do not go with the policy or with each other. That words and
// numbers are of their range is checked where the file is read.
func (d *Turns) Faults() (list []Fault) {
	given := map[string]bool{
		"participants": len(d.Participants) > 0, "order": len(d.Order) > 0, "by": d.By != "", "reroll": d.Reroll != "", "per_turn": d.PerTurn != 0,
		"time_limit": d.TimeLimit != 0, "on_timeout": d.OnTimeout != "", "interject": d.Interject != "", "rounds": d.Rounds != 0, "fallback": d.Fallback != "",
	}
	for _, field := range protocol.SortedKeys(given) {
		if given[field] && !slices.Contains(takes(d.Policy), field) {
			list = append(list, Fault{field, fmt.Sprintf("turns of the policy %s have no %s", d.Policy, field), "take it out, or choose another policy"})
		}
	}
	switch {
	case d.Policy == Initiative && d.By == "":
		list = append(list, Fault{"by", "the policy initiative needs an expression by which participants are ordered", "such as roll, or world.speed[agent.instance_id] + roll"})
	case d.By != "":
		if _, err := expr.Compile(d.By, roots()...); err != nil {
			list = append(list, Fault{"by", err.Error(), "it reads agent, world and roll"})
		}
	}
	if d.OnTimeout == Play {
		list = append(list, Fault{"on_timeout", "play is not there yet: nobody plays for a participant that is absent", "use skip or forfeit"})
	}
	for _, field := range []string{"on_timeout", "fallback"} {
		if given[field] && d.TimeLimit == 0 {
			list = append(list, Fault{field, field + " never comes to pass without time_limit", "add time_limit, such as \"1m\""})
		}
	}
	return list
}

// takes are the fields of a policy.
func takes(p Policy) []string {
	all := []string{"participants", "per_turn", "time_limit", "on_timeout", "interject", "rounds"}
	switch p {
	case Free:
		return nil
	case RoundRobin:
		return append(all, "order")
	case Initiative:
		return append(all, "by", "reroll")
	case Director:
		return append(all, "order", "fallback")
	}
	return all
}

// Rules are a definition for the agents of a scene. They are immutable.
type Rules struct {
	Turns            // with its defaults
	Members []uint32 // ordinals of the participants, in the order in which they have turns

	by     *expr.Program
	member map[uint32]bool
}

// New makes the rules of a definition without faults.
func New(d Turns, members []uint32) (*Rules, error) {
	if faults := d.Faults(); len(faults) > 0 {
		return nil, protocol.Errorf(protocol.KindInvalid, "turns.%s: %s", faults[0].Field, faults[0].Message)
	}
	if d.Policy != Free && (len(members) == 0 || len(members) > MaxParticipants) {
		return nil, protocol.Errorf(protocol.KindInvalid, "turns: %d participants, want 1 to %d", len(members), MaxParticipants)
	}
	r := &Rules{Turns: d, Members: members, member: make(map[uint32]bool, len(members))}
	for _, o := range members {
		r.member[o] = true
	}
	r.PerTurn = max(r.PerTurn, 1)
	orElse(&r.Reroll, EachRound)
	orElse(&r.OnTimeout, Skip)
	orElse(&r.Fallback, Wait)
	if d.By != "" {
		var err error
		r.by, err = expr.Compile(d.By, roots()...)
		return r, err
	}
	return r, nil
}

func orElse(field *string, def string) {
	if *field == "" {
		*field = def
	}
}

// Gates reports whether anybody is ever gated.
func (r *Rules) Gates() bool { return r != nil && r.Policy != Free }

// Member reports whether an agent is a participant.
func (r *Rules) Member(o uint32) bool { return r.Gates() && r.member[o] }

// Interjects reports whether participants that hear something critical are woken out of turn.
func (r *Rules) Interjects() bool { return r.Interject == Critical }
