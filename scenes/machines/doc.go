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
// What is kept of the scene itself is a [StageState]: it has Apply and snapshots, and is all
// that a fold needs of a stage. [NewStage] makes a [Stage] of it, the machine that decides:
// [Stage.Decide] takes an [Input] and gives [Effect] values, in the order in which the shell
// carries them out. Each object knows those above it in this list, and none below:
//
//	stagestate.go    what folding the facts gives; script.go: the scene's script
//	asked.go         what the services are asked, and how they answer or fail
//	deliberations.go turns between their wakes and the waves that take them, and failed agents
//	record.go        what the open wave leaves: facts, requests, observations
//	changes.go       who comes, leaves and rests in it, by orders.go, travel.go, mail.go, directors and the script
//	wave.go          its turns (span.go; grants.go: what they take of budgets) and the facts of the services
//	stage.go         all inputs
//
// The methods of Stage are about which wave there is:
//
//	next.go      which comes next; waiting.go: orders that wait for theirs
//	waves.go     how it begins, goes on and is closed
//	realtime.go  wakes on the realtime clock
//	lifecycle.go how a scene begins, pauses, goes on and ends
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
