// Package script leads a scene from state to state (docs/formats/script.md): variables,
// transitions, schedules, and answers that are collected.
//
// You hold a [Program], which [Compile] makes of the block `script` of a scene, and a
// [State]. At the end of every wave the stage calls [Machine.Look], keeps the facts that it
// gives, and folds them by [State.Apply]. It carries out the changes that the actions ask
// for one tick later (engine/order), lets the agents rest that [Machine.Active] does not
// name, and opens a wave at [Machine.Next].
//
// # Promises
//
//  1. A look changes nothing: equal states and equal inputs give equal decisions.
//  2. A look takes at most one transition, so no script loops within a moment.
//  3. A collection counts at most one answer of each agent that it asked, the first one
//     that fits the schema, and none after it was closed.
//  4. An expression that fails is a condition that does not hold, or an action that is
//     recorded as failed; the others of its list are carried out.
//  5. Everything is bounded; [Compile] names the bound and the place.
//
// # Not here
//
// The meaning of changes (engine/order), the agents that are woken (engine/agenda), the time of a wave
// (scenes/machines).
package script

// Bounds of what a script keeps and asks for.
const (
	MaxValue    = 64 << 10 // bytes of a variable
	MaxAnswer   = 16 << 10 // bytes of an answer
	MaxAnswers  = 16 << 20 // bytes of the answers of one collection
	MaxContext  = 64 << 10 // bytes of the text of a state, written
	MaxRequests = 4_096    // changes that one wave asks for
	maxID       = 200      // bytes
	maxText     = 2 << 10  // bytes of an outcome and its reason
	maxWinners  = 1_000    // of an outcome
)
