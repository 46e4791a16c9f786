// Package workflow compiles and runs workflows: nodes joined by edges, a
// directed graph without cycles, in the node/edge form of workflow files.
//
// You hold a [Plan], made once per [Definition] by [Compile] and shared by
// everyone, and a [Run] per execution: a plain value that you own and may use
// again. You start it with inputs, call [Run.Advance] with a [Host], and bring
// the answers that the host put off to [Run.Answer] until it is done:
//
//	err := run.Start(plan, args, workflow.Env{Now: now, Draw: draw})
//	for !run.Advance(host) {
//		a := <-answers // a state of yours, not of the run
//		err = run.Answer(a.ID, a.Answer)
//	}
//	said, ok := run.Output(plan.Output("said"))
//
// Only two things leave a run, as values: a model completion and a tool call.
// The engine knows nothing of agents; reading private state, publishing an event
// and writing knowledge are tool calls to it.
//
// # Promises
//
//  1. What comes of a run depends on the plan, the inputs, the Env and the
//     answers; not on the order in which answers arrive, nor on what the Run
//     was used for before. (The order of asking, and with it [Request.ID],
//     follows the answers.)
//  2. Compile reports every fault at once, with its place in the file. A plan
//     never panics, and bad values fail nodes.
//  3. Everything that can be asked is asked before the run waits: independent
//     branches have their requests out together.
//  4. A node runs when everything that feeds it has settled. A source that was
//     not taken makes it skipped, a source that failed makes it fail with the
//     same cause; Select, GroupOutput and the error handle are where that ends.
//     Siblings never notice.
//  5. A request gets at most one answer; further ones are refused and change
//     nothing (I5).
//  6. A run ends: steps, items, nesting and retries are bounded. A run that is
//     out of steps has no outputs and a limit error. So is the memory of what it
//     makes ([Budget]): the node that makes too much fails.
//  7. Time is the run's own: 0 at the start, moved by the latencies of answers
//     and the waits before retries alone. [Run.Elapsed] is the critical path.
//  8. Chance is keyed by the place of a node, so that a neighbour that draws
//     more or less changes nothing.
//  9. Values are shared and never written.
//
// # Bodies and kinds
//
// What a node does is its [Kind]; kinds are a map value given to Compile. Package
// nodes has the standard ones. SubWorkflow and Loop are the engine's: a nested
// workflow is a frame of the same run, its nodes have the ids "outer/inner" and
// "loop#3/inner" (the item's index), "outer~2/inner" when outer is repeated.
//
// The package uses engine/template for the text form of values only.
//
// # Not here
//
// Waiting, timers, parallel execution of pure nodes (they take microseconds),
// permissions, and what a tool or model is.
package workflow
