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
// The durable state of the scene itself is a [StageState]: it has Apply and snapshots, and a fold needs
// nothing else of a stage. [NewStage] makes a [Stage] of it, the machine that decides:
// [Stage.Decide] takes an [Input] and gives [Effect] values, in the order in which the shell
// carries them out. Each file uses the ones above it in this list, and none below:
//
//	stagestate.go    the state that folding the facts gives; script.go: the scene's script
//	asked.go         requests to the services, their answers and failures
//	deliberations.go turns from their wake until a wave takes them, and failed agents
//	record.go        the results of the open wave: facts, requests, observations
//	changes.go       agents that come, leave and rest in it: orders.go, travel.go, mail.go, directors and the script
//	wave.go          its turns (span.go; grants.go: their use of budgets) and the facts of the services
//	stage.go         all inputs
//
// The methods of Stage drive the waves:
//
//	next.go      the choice of the next wave; waiting.go: orders that wait for a wave
//	waves.go     begin, progress and end of a wave
//	realtime.go  wakes on the realtime clock
//	lifecycle.go begin, pause, resume and end of a scene
//	gather.go    the times of snapshots, and what waits for them
//
// # Services
//
// [Services] is the table of the machines that decide about the requests of a wave. Each is a
// [Service]; a live scene, a fold, a snapshot and verify read the table and name none of them.
//
// # Promises
//
//  1. Folding the facts gives the State, whatever the snapshot
//     ([State.Load]) that the fold began with.
//  2. The package uses no clock, chance, model or metric. The effects of a fact
//     follow from the fact.
//  3. [State.Hash] is equal for equal states only.
package machines
