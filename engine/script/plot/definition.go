// Package plot holds the definition of the block `script` of a scene (docs/formats/script.md).
// Package script checks it and carries it out.
package plot

import (
	"tavernsim/engine/collab"
	"tavernsim/engine/script/turns"
	"tavernsim/protocol"
)

// Definition is the block `script` of a scene.
type Definition struct {
	Variables map[string]any    `json:"variables,omitempty"`
	Start     string            `json:"start,omitempty"`
	States    []StateDefinition `json:"states"`
	Schedules []Schedule        `json:"schedules,omitempty"`
	Outcome   *Ending           `json:"outcome,omitempty"`
}

// StateDefinition is one state of the script.
type StateDefinition struct {
	ID          string       `json:"id"`
	Context     string       `json:"context,omitempty"`
	Active      []string     `json:"active,omitempty"`
	Turns       *turns.Turns `json:"turns,omitempty"`
	Collect     []Collect    `json:"collect,omitempty"`
	OnEnter     []any        `json:"on_enter,omitempty"`
	OnLeave     []any        `json:"on_leave,omitempty"`
	Transitions []Transition `json:"transitions,omitempty"`
}

// Transition leads to another state, or into the same one again.
type Transition struct {
	To    string            `json:"to"`
	When  string            `json:"when,omitempty"`
	On    string            `json:"on,omitempty"`
	If    string            `json:"if,omitempty"`
	After protocol.Duration `json:"after,omitempty"`
}

// Collect asks agents for one answer each.
type Collect struct {
	ID       string          `json:"id"`
	Event    string          `json:"event"`
	From     []string        `json:"from"`
	Question any             `json:"question,omitempty"`
	Schema   any             `json:"schema,omitempty"`
	Secret   bool            `json:"secret,omitempty"`
	If       string          `json:"if,omitempty"`
	Tally    string          `json:"tally,omitempty"`
	Voting   *collab.Voting  `json:"voting,omitempty"`
	Auction  *collab.Auction `json:"auction,omitempty"`
	Until    Until           `json:"until,omitzero"`
}

// Until closes a collection; the first that holds does.
type Until struct {
	Count int64             `json:"count,omitempty"`
	Share float64           `json:"share,omitempty"`
	After protocol.Duration `json:"after,omitempty"`
}

// Schedule does something at moments of scene time.
type Schedule struct {
	ID    string            `json:"id"`
	Every protocol.Duration `json:"every,omitempty"`
	At    protocol.Duration `json:"at,omitempty"`
	Cron  string            `json:"cron,omitempty"`
	In    []string          `json:"in,omitempty"`
	Do    []any             `json:"do"`
}

// Ending is what a scene comes to.
type Ending struct {
	Outcome any `json:"outcome"`
	Winners any `json:"winners,omitempty"`
	Reason  any `json:"reason,omitempty"`
}

// Bounds of one script.
const (
	MaxStates      = 1_000
	MaxTransitions = 10_000
	MaxSchedules   = 1_000
	MaxCollections = 64
	MaxVariables   = 1_000
	MaxActions     = 256 // of one list
)
