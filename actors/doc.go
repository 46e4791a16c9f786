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
//  9. Between two actors there is no order, and so none between two scenes.
//
// Less formally: a scene's order is that of its journal. It comes from one
// channel that sends what it routed in the order of the facts, through one lane,
// and from wakes that go last.
//
// # Lanes
//
// Every lane of every mailbox is bounded ([Capacity]) and has a policy for what
// comes beyond ([Policy]). In front of the mailbox stands the supervisor's chain
// of middlewares (engine/bus/verdict). A send takes no lock and allocates one
// cell of 16 bytes; an idle actor holds no queue memory.
//
// # Not here
//
// Rules. What an actor decides is its machine's business (engine/...), who
// hears an event is engine/bus's, what is kept is persistence's.
package actors
