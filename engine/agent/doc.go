// Package agent is the machine of one agent: its state, and its deliberation in
// flight (agent architecture §2).
//
// You hold a [Machine], made of a [Definition] that all agents of a profile
// share, an [Identity] and a [State]. You wake it with [Wake] and get facts, or
// requests to the outside, whose answers you return with [effect.Answered]. You report
// events with [Machine.Hear] and observations with [Machine.Observe]. You must pass
// every decided fact once to [Machine.Apply] and then call [Machine.Release],
// because facts, effects and requests use memory that the machine reuses.
//
//	d, err := m.Decide(&agent.Wake{Now: now, View: view, Draw: draw})
//	for len(d.Facts) == 0 {
//		ask := d.Effects[0].(*effect.Ask) // of a model
//		d, err = m.Decide(&effect.Answered{Kind: ask.Kind, Number: ask.Number, Model: answer})
//	}
//	// m.Apply each of d.Facts, encode them and d.Requests, then m.Release()
//
// # A turn
//
// A deliberation perceives once, at its start: the inbox, the observations, and
// one snapshot of the world and the knowledge bases. It runs the core workflow and
// carries out the resulting calls one after the other. While there are results and
// rounds left, it runs the workflow again. At the end it reflects if a call asked
// for it.
// Private state and goals change in a draft that later calls of the turn see.
// Changes of anything else are requests, which leave with the last fact.
//
// # Promises
//
//  1. The facts of a turn come all at once, at its end; the last is [agentfact.TurnEnded].
//     Before that the turn has no effect. A turn that begins again from the same
//     state with the same Wake and answers gives the same facts and requests.
//  2. A problem in a turn (a call that is denied or fails, text that cannot be
//     parsed, a workflow without a result) becomes an observation of the next
//     turn. An error of Decide is a defect, and fails the actor.
//  3. The inventories of the profile are the authorisation, for calls of a model
//     and of workflow nodes alike.
//  4. Every model call takes one answer; a late or second answer changes nothing. On the virtual
//     clock answers count in the order of their requests, however fast they come. Under a
//     budget there, give a [Sent] when effects have left: the next answer counts then.
//  5. The facts folded over a state, or over its snapshot, give the same state.
//     Values that a State points to are shared and never written.
//  6. Everything is bounded by [Limits]. A full inbox drops the oldest of its
//     least urgent events, but never one that requires an acknowledgement or one
//     of a lane that blocks, and the agent observes the loss. Beyond the other
//     limits a call is refused or the oldest entry is dropped.
//
// Each rule has a script in testdata/script: events, observations and wakes of an
// agent, and its decisions. The comment of TestScripts describes the language.
//
// # Not here
//
// Engine/agenda decides when an agent is woken. Engine/world, engine/bus and
// engine/knowledge decide about its requests. Package scenes calls the model and
// orders the agents. The facts are in engine/agent/agentfact, requests to the outside
// in engine/agent/effect, and changes of the private state in engine/agent/private. Independent parts of
// a turn are packages below: its results (outbox, record), its drafts (selfstate, motive),
// its inputs (worldview, lore), and the steps of a block (block, held, repeat).
//
// The package imports engine/workflow, which a turn drives, and engine/world and
// engine/knowledge, which it reads but does not change.
package agent
