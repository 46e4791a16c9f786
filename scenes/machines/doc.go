// Package machines combines the machines of a scene, without actors: the agenda, the
// world, the knowledge bases, the event channel, the agents.
//
// You hold a [State], which [New] makes from the definition of a scene. Scenes/history
// folds a journal into it with [State.Apply]. A live scene (package scenes) gives each
// folded machine to an actor. Scenes/view/verify gives the same machines the inputs
// that a history shows. So each rule is written once.
//
// # The stage
//
// [Stage] is the machine of the scene itself. [Stage.Decide] takes an [Input] and
// gives [Effect] values, in the order in which the shell carries them out:
//
//	next.go      which wave comes next
//	lifecycle.go how a scene begins, pauses, goes on and ends
//	wave.go      one wave: wakes, merges, services, its facts
//	asked.go     what a service is asked while agents deliberate, and a service that fails
//	waiting.go   the orders that wait for their wave
//	realtime.go  waves of the turns that have arrived; inflight.go: urgent ones
//	gather.go    when a snapshot is taken, and what waits for it
//
// # Services
//
// [Services] is the table of the machines that decide about the requests of a wave:
// [World], [Knowledge], [Tasks], [Space], [Events]. Each is a [Service]; a live scene, a fold, a
// snapshot and verify read the table and name none of them.
//
// # Promises
//
//  1. State is what folding the facts gives, whatever the place of the snapshot
//     ([State.Load]) that the fold began with.
//  2. The package uses no clock, chance, model or metric. The effects of a fact
//     follow from the fact.
//  3. [State.Hash] is equal for equal states only.
package machines
