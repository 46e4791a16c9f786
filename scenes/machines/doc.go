// Package machines is all machines of a scene, without the actors that they live
// in: the agenda, the world, the knowledge, the event channel, the agents.
//
// You hold a [State], made by [New] of what the scene is made of. Reading a journal
// (scenes/history) folds it with [State.Apply]. A live scene (package scenes) spreads
// what was folded over its actors; holding a history to its rules (scenes/view/verify)
// gives the same machines the inputs that the history shows. So each rule is written
// once.
//
// # The stage
//
// [Stage] is the machine of the scene itself. [Stage.Decide] takes an [Input] and
// gives [Effect] values, in the order in which the shell carries them out:
//
//	next.go      which wave comes next, how a scene begins, pauses and ends
//	wave.go      one wave: wakes, merges, services, what is kept of it
//	realtime.go  waves of what has arrived; inflight.go says what is urgent
//	gather.go    when a snapshot is taken, and what waits for it
//
// # Services
//
// [Services] is the table of the machines that decide about the requests of a wave:
// [World], [Knowledge], [Events]. Each is a [Service]; a live scene, a fold, a
// snapshot and verify read the table and name none of them.
//
// # Promises
//
//  1. State is what folding the facts gives, whatever the place of the snapshot
//     ([State.Load]) that the fold began with.
//  2. There is no clock, chance, model or metric here; what a fact does to
//     anybody follows from the fact.
//  3. [State.Hash] is equal for equal states only.
package machines
