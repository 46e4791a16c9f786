// Package workflow compiles and runs workflows: nodes joined by edges, a
// directed graph without cycles, in the node/edge form of workflow files.
//
// You hold a [Plan], made once per [Definition] by [Compile] and shared by all
// callers, and a [Run] per execution: a plain value that you own and may reuse.
// Start it with inputs, call [Run.Advance] with a [Host], and pass the answers that
// the host deferred to [Run.Answer] until the run is done:
//
//	err := run.Start(plan, args, workflow.Env{Now: now, Draw: draw})
//	for !run.Advance(host) {
//		a := <-answers // a state of yours, not of the run
//		err = run.Answer(a.ID, a.Answer)
//	}
//	said, ok := run.Output(plan.Output("said"))
//
// A run makes only two kinds of requests, as values: a model completion and a tool
// call. The engine knows nothing of agents: reading private state, publishing an
// event and writing knowledge are tool calls.
//
// # Promises
//
//  1. The result of a run depends on the plan, the inputs, the Env and the
//     answers. It does not depend on the order of the answers or on earlier uses
//     of the Run. (The order of requests, and with it [Request.ID], follows the
//     answers.)
//  2. Compile reports every fault at once, with its place in the file. A plan
//     never panics; bad values fail nodes.
//  3. A run makes all possible requests before it waits: the requests of
//     independent branches are in flight together.
//  4. A node runs when all its inputs are settled. A source that was not taken
//     makes it skipped; a source that failed makes it fail with the same cause.
//     Select, GroupOutput and the error handle end this. Siblings are not
//     affected.
//  5. A request accepts at most one answer; further answers are refused and
//     change nothing (I5).
//  6. A run ends: steps, items, nesting and retries are bounded. A run that
//     exceeds its steps has no outputs and a limit error. Memory is bounded too
//     ([Budget]): a node that makes too much fails.
//  7. A run has its own time: 0 at the start, advanced only by the latencies of
//     answers and the waits before retries. [Run.Elapsed] is the critical path.
//  8. Chance is keyed by the place of a node, so a neighbour that draws more or
//     less changes nothing.
//  9. Values are shared and never written.
//
// # Bodies and kinds
//
// A [Kind] defines the behaviour of a node; kinds are a map value given to Compile.
// Package nodes has the standard ones. SubWorkflow and Loop belong to the engine: a
// nested workflow is a frame of the same run. Its nodes have the ids "outer/inner"
// and "loop#3/inner" (the item's index), and "outer~2/inner" if outer is repeated.
//
// The package uses engine/template only for the text form of values.
//
// # Not here
//
// Waiting, timers, parallel execution of pure nodes (they take microseconds),
// permissions, and the meaning of tools and models.
package workflow
