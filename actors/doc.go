// Package actors runs behaviours behind mailboxes, on a pool of workers. A supervisor
// handles their failures. No other package imports Proto.Actor, except benchmarks.
//
// # What you hold and owe
//
// A [System] owns the workers and every actor spawned in it. [System.Close]
// stops both and returns when the last goroutine has ended. [System.Spawn] starts
// an actor and returns its [Ref]; any goroutine may send it something with
// [Ref.Tell]. The [Supervisor] given at Spawn is told of each failure and decides:
// [System.Restart] or [System.Stop].
//
// # Promises
//
//  1. One actor handles one envelope at a time.
//
//  2. Within a lane, envelopes of one sender are handled in the order sent. A
//     sender that had to wait for room keeps its place.
//
//  3. Lanes are served control, critical, high, normal, low; a waiting lower
//     lane gets at least one turn in [StarvationBound]. The length of a lower lane
//     makes no difference to a higher one.
//
//  4. The last lane is served only when every other lane is empty: an envelope
//     that a sender sent before a wake is handled before the wake.
//
//  5. A panic or error in a handler suspends that actor alone and keeps its queue.
//     Its supervisor is told once, with the stack. The envelope that was being
//     handled is not handled again.
//
//  6. Envelopes that a middleware or a full lane refuses, that a lane drops, or
//     that are still queued when an actor stops, go to [Supervisor.Dead] and
//     [Options.DeadLetter] with a reason. No envelope vanishes.
//
//  7. A handler must not block, because it occupies a worker. Waiting is a state of
//     the machine, and the answer comes as an envelope. [Ref.Tell] in a handler
//     never blocks.
//
//  8. An actor returns its worker after 128 envelopes, or after a millisecond,
//     which is checked every 16 envelopes.
//
//  9. There is no order between two actors, and so none between two scenes. An
//     actor that hangs keeps its worker and delays no other actor while there is
//     another worker.
//
//  10. Every lane of every mailbox is bounded. Lanes for events hold
//     [DefaultCapacity] or the number in [Supervisor.Lanes], with a [Policy] for
//     further envelopes. The control lane and the last lane hold [ControlCapacity]
//     each and refuse further envelopes.
//
//  11. A queued envelope always gets a worker (subject to 14), even if it arrives
//     while a worker is releasing the actor.
//
//  12. A send takes no lock, unless it wakes the actor, and allocates a cell of 16
//     bytes, sixteen at a time. A mailbox has 192 bytes, and uses no queue memory
//     while it is idle.
//
//  13. An actor that received an envelope of critical priority is served before the others
//     that wait for a worker, until its queue is empty, and so is an actor whose
//     kind is in [Supervisor.First]: it waits for one slice of each worker. Of four
//     actors in a row that a worker runs, at least one is an ordinary one.
//
//  14. While the ordinary actors of a supervisor are paused ([Supervisor.PauseOrdinary]), a worker runs only
//     those of its actors that have precedence (13), or must stop or restart. The workers
//     set the others aside until [Supervisor.ResumeOrdinary]; then they continue in order.
//
//  15. An actor may run others on its own worker ([Ref.Visitor]): one at a time, their queued envelopes
//     first. Their failures are their own. It does not run an actor that another worker runs.
//
// These promises give a scene its order of events, together with one channel that sends routed
// events in the order of their facts through one lane. Wakes come last.
//
// # Why it is fast
//
// The supervisor's chain of middlewares is in front of the mailbox, prepared once
// (delivery.Plan). A sender counts in, puts a cell on a stack and sets a bit in the
// mailbox's word; if the bit is set already, the sender only reads it. A worker
// reads one word to know all lanes, takes a whole stack in one step, and reports
// what it took in batches. Data that senders write, data that workers write and data
// that both read are in different cache lines. BenchmarkMailbox of internal/bench
// measures it.
//
// # Not here
//
// Rules. An actor's machine decides (engine/...), engine/bus finds the receivers of
// an event, persistence stores facts.
package actors
