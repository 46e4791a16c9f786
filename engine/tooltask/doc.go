// Package tooltask is the machine of the service that owns tasks: calls that outlive their
// turn (seed 000 §3.2).
//
// A turn requests a task; [State.Decide] opens it once the turn is merged. The driver of the
// machine carries it out when the wave is durable, and reports the result
// ([Told]). The task ends when it is due; on the realtime clock, when its answer is there.
//
// # Promises
//
//  1. On the virtual clock a task ends at the moment that its fact [Opened] names, whenever
//     its answer came. [State.Missing] lists the answers that are due and missing; the driver
//     waits for them.
//
//  2. A task ends once. Answers of tasks that are not open change nothing.
//
//  3. At most [MaxOpen] tasks are open, and as many of one agent as its request allows. A
//     request beyond it is a task that has ended, and so is one for which a budget of tools has no room.
//
//  4. The author of the first report on a task between agents becomes its owner. The
//     task ends by a report of its owner, by a request of its asker, when one of the agents leaves,
//     or when its time is over; a report at its deadline counts. Any other
//     report changes nothing, and its author is told.
//
//  5. A question to a person ends by a request, or when its time is over, and never by an
//     answer of an executor. A request at its deadline counts.
//
// # Not here
//
// Carrying out, attempts, kills (scenes, scenes/outside, tools); the event that tells the
// agent (scenes/machines).
package tooltask
