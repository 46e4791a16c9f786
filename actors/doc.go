// Package actors is the shell: the only code that runs. It puts a machine
// behind a mailbox, lets a pool of workers drive it, and tells a supervisor
// when it failed. Proto.Actor is known here and nowhere else.
//
// # What you hold and owe
//
// A [System] owns the workers and every actor spawned in it; [System.Close]
// stops both and returns when the last goroutine is gone. [System.Spawn] starts
// an actor and returns its [Ref], which anybody may use to [Ref.Tell] it
// something. The [Supervisor] given at Spawn hears of each failure and decides:
// [System.Restart] or [System.Stop].
//
// # Promises
//
//  1. One actor handles one envelope at a time.
//  2. Within a lane, envelopes of one sender are handled in the order sent. A
//     sender that was made to wait for room keeps its place.
//  3. Lanes are served control, critical, high, normal, low; a waiting lower
//     lane gets at least one turn in [StarvationBound]. How much waits in a lower
//     lane makes no difference to a higher one.
//  4. The last lane is served when every other is empty, and only then: what one
//     sender sent before a wake is handled before the wake.
//  5. A panic or error in a handler suspends that actor alone, keeps its queue,
//     and reaches its supervisor once, with the stack. The envelope that was
//     being handled is not handled again.
//  6. What a middleware or a full lane refuses, what a lane drops, and what is
//     still queued when an actor stops, goes to [Supervisor.Dead] and
//     [Options.DeadLetter] with a reason. Nothing vanishes.
//  7. A handler must not block: it occupies a worker. Waiting is a state of the
//     machine, and the answer comes as an envelope. [Ref.Tell] in a handler never
//     blocks.
//  8. An actor gives its worker to the next after 128 envelopes, or a
//     millisecond, looked at every 16.
//  9. Between two actors there is no order, and so none between two scenes: one
//     that stands still keeps its worker and holds up no other actor, while there
//     is another worker.
//  10. Every lane of every mailbox is bounded. Those for events hold
//     [DefaultCapacity] or what [Supervisor.Lanes] says, with a [Policy] for what
//     comes beyond; the control lane and the last one hold [ControlCapacity] each
//     and refuse the rest.
//  11. What was queued gets a worker (14 may put it off), however its sender and a
//     worker that is about to give the actor up meet.
//  12. A send takes no lock, unless it wakes the actor, and allocates a cell of 16
//     bytes, sixteen at a time. A mailbox is 192 bytes, and holds no queue memory
//     while it is idle.
//  13. An actor that is sent something of critical priority goes before those that
//     wait for a worker, until its queue is empty, and so does one whose kind is
//     in [Supervisor.First]: it waits for one slice of each worker. Of four actors
//     in a row that a worker runs at least one is an ordinary one.
//  14. While a supervisor is held ([Supervisor.Hold]) only those of its actors get
//     a worker that go before others or have been asked to stop or to restart. The
//     others stand aside until [Supervisor.LetGo], and then go on in their order.
//
// A scene's order of events comes from these and from one channel, which sends
// what it routed in the order of the facts, through one lane; wakes go last.
//
// # How it is fast
//
// In front of the mailbox stands the supervisor's chain of middlewares, made
// ready once (verdict.Plan). A sender counts in, puts a cell on a stack and sets
// a bit in the mailbox's word; when the bit is set, it only reads that. A worker
// reads one word to know all lanes, takes a whole stack in one step, and tells
// what it took in lots. What senders write, what workers write and what both read
// lies in different lines of the cache. `simd bench mailbox` measures it.
//
// # Not here
//
// Rules. What an actor decides is its machine's business (engine/...), who
// hears an event is engine/bus's, what is kept is persistence's.
package actors
