// Package scenes makes a scene of a project run: every machine in an actor of
// its own, one journal for all of them.
//
// You hold a [Run], made by [Start] of what the scene is made of (scenes/load/setup)
// and an open journal. Start goes on where the journal ends, so it begins and
// resumes alike. You owe [Run.Wait], which returns when the scene has stopped and
// its actors are gone; the journal and the actor system stay yours.
//
// # Who does what
//
// The rules are machines (scenes/machines). This package gives them mailboxes and
// carries out what they wish for: the stage (stage.go) for the scene itself, one
// shell for every service (services.go, and channel.go for deliveries), one for every
// agent (agents.go). snapshot.go gathers their states, measure.go counts for metrics.
// ARCHITECTURE.md follows one message through all of them.
//
// # Promises
//
//  1. On the virtual clock the facts depend on the project, the options that the
//     manifest keeps and the model's answers; not on workers, block sizes,
//     snapshots, the window of deliberations, interruptions or kills.
//  2. State is what folding the facts gives. A live scene and a fold apply the
//     same facts in the same order.
//  3. An agent that fails, by panic or error, stops nobody else: it is recorded,
//     restored from the journal and woken after a backoff, or given up. A
//     service that fails is restored and asked again; given up, it ends the scene.
//  4. What Run reports to the outside (that it rests, that it has stopped) is
//     durable, unless the outcome carries an error. Inside, waves may be ahead
//     of the disk, as far as the journal allows.
//  5. When the journal cannot be written any more, nothing more happens; what
//     was kept can be resumed.
//  6. Scenes share the process, the workers and the store, nothing else.
//  7. On the virtual clock every agent hears events in the order of their facts,
//     which is the one order of the scene, whatever their priority and however
//     many workers there are. Between scenes there is none.
//  8. On either clock a critical event is handled before 100 deliberations of
//     others have ended, however many agents are ready and however the workers are
//     scheduled, unless its receiver waits for a model or does not return.
//
// # What waits
//
// No handler waits on a worker for anything but the journal: when the disk is too
// far behind, the stage stands still and with it the scene. That is the
// backpressure. Model calls that take time wait on goroutines of their own, at
// most Options.ModelCalls at once.
//
// # Not here
//
// The rules (engine/..., scenes/machines), reading a journal (scenes/history),
// model calls (scenes/outside), loading (scenes/load/project), the run directory and
// several scenes at once (scenes/run/runner).
package scenes
