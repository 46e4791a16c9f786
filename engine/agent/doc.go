// Package agent is the machine of one agent: what it keeps, and the
// deliberation in flight (agent architecture §2).
//
// You hold a [Machine], made of a [Definition] that all agents of a profile
// share, an [Identity] and a [State]. You wake it with [Wake] and get facts, or
// requests to the outside, whose answers you bring back with [Answered]; what
// happens around it you tell it with [Machine.Hear] and [Machine.Observe]. You
// owe it every fact that it decided, once, through [Machine.Apply], and then
// [Machine.Release]: facts and requests live in memory that is lent to it.
//
//	d, err := m.Decide(&agent.Wake{Now: now, World: doc, Draw: draw})
//	for len(d.Facts) == 0 {
//		ask := d.Effects[0].(*agent.Ask) // of a model
//		d, err = m.Decide(&agent.Answered{Kind: ask.Kind, Number: ask.Number, Model: answer})
//	}
//	// m.Apply each of d.Facts, encode them and d.Requests, then m.Release()
//
// # A turn
//
// A deliberation perceives once, at its start: the inbox, the observations, and
// one snapshot of the world and the knowledge bases. It runs the core workflow,
// carries out the calls that came of it one after the other, runs the workflow
// again while there are results and rounds left, and reflects when it wants to.
// Private state and goals change in a draft that later calls of the turn see;
// what concerns others is a request, and leaves with the last fact.
//
// # Promises
//
//  1. The facts of a turn come all at once, at its end; the last is [TurnEnded].
//     Before that nothing has happened: a turn that is begun again from the same
//     state with the same Wake and answers gives the same facts and requests.
//  2. Whatever goes wrong in a turn (a call that is denied or fails, text that
//     cannot be parsed, a workflow without a result) becomes an observation of
//     the next. An error of Decide is a defect, and fails the actor.
//  3. The inventories of the profile are the authorisation, for calls of a model
//     and of workflow nodes alike.
//  4. Every model call takes one answer; a late or second one changes nothing.
//  5. The facts folded over a state, or over its snapshot, give the same state.
//     What a State points to is shared and never written.
//  6. Everything is bounded by [Limits]. A full inbox drops the oldest of its
//     least urgent events, never an acknowledged one nor one of a lane that
//     blocks, and the agent is told; beyond the other limits a call is refused or
//     the oldest goes.
//
// # Not here
//
// When an agent is woken (engine/director), what becomes of its requests
// (engine/world, engine/bus, engine/knowledge), who asks the model, and the
// order among agents.
//
// The package imports engine/workflow, which a turn drives, and engine/world and
// engine/knowledge, which it reads; it changes neither.
package agent
