// Package scenes runs a scene of a project, with every machine in an actor of its own
// and one journal for all.
//
// You hold a [Run], which [Start] makes from the definition of a scene
// (scenes/load/setup) and an open journal. Start continues where the journal ends, so
// it begins and resumes scenes alike. You must call [Run.Wait], which returns when the
// scene has stopped and its actors are gone. You close the journal and the actor
// system afterwards.
//
// # Parts
//
// The rules are in machines (scenes/machines). This package puts each behind a mailbox
// and carries out its effects: the stage (stage.go) for the scene itself, one shell
// for every service (services.go; channel.go delivers events) and for every agent
// (agents.go). The file snapshot.go gathers their states, measure.go measures.
// ARCHITECTURE.md follows one message through all of them.
//
// # Promises
//
//  1. On the virtual clock the facts depend on the project, the options that the
//     manifest keeps and the model's answers; not on workers, block sizes,
//     snapshots, the window of deliberations, interruptions or kills.
//  2. State is what folding the facts gives. A live scene and a fold apply the
//     same facts in the same order.
//  3. An agent that fails, by panic or error, stops no other agent. The failure is
//     recorded, and the agent is restored from the journal and woken after a
//     backoff, or given up. A service that fails is restored and decides again; if
//     it is given up, the scene ends.
//  4. When Run reports that the scene rests or has stopped, everything before is
//     durable, unless the outcome has an error. Inside the process, waves may be
//     ahead of the disk, as far as the journal allows.
//  5. When the journal cannot be written any more, the scene stops. The durable
//     waves can be resumed.
//  6. Scenes share the process, the workers and the store. Only linked scenes exchange
//     data: letters (scenes/links).
//  7. On the virtual clock every agent gets its events in the order of their facts,
//     the one order of the scene, for all priorities and any number of workers.
//     There is no order between scenes.
//  8. On either clock a critical event is handled before 100 deliberations of
//     other agents have ended, however many agents are ready and however the
//     workers are scheduled, unless its receiver waits for a model or does not
//     return.
//  9. The time of a scene never goes back, whatever the wall clock does.
//
// # Backpressure
//
// Handlers block a worker only for the journal: when the disk is too far
// behind, the stage waits, and with it the scene. Model calls that take time run on
// goroutines of their own, at most Options.ModelCalls at once.
//
// # Not here
//
// The rules (engine/..., scenes/machines), reading a journal (scenes/history),
// model calls (scenes/outside), loading (scenes/load/project), the run directory
// (scenes/run/rundir), several scenes at once (scenes/run/runner).
package scenes
