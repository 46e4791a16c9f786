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
//  2. Within a lane, envelopes of one sender are handled in the order sent.
//  3. Lanes are served control, critical, high, normal, low; a waiting lower
//     lane gets at least one turn in [StarvationBound]. The wake lane is served
//     when every other lane is empty, and only then.
//  4. A panic or error in a handler suspends that actor alone, keeps its queue,
//     and reaches its supervisor once, with the stack. The envelope that was
//     being handled is not handled again.
//  5. What a mailbox refuses, and what is still queued when an actor stops,
//     goes to [Options.DeadLetter] with a reason. Nothing vanishes.
//  6. A handler must not block: it occupies a worker. Waiting is a state of the
//     machine, and the answer comes as an envelope.
//
// # Not here
//
// Rules. What an actor decides is its machine's business (engine/...), who
// hears an event is engine/bus's, what is kept is persistence's.
package actors
