// Package turns decides which agents have a turn: it is the machine of the block turns of a
// scene (docs/formats/scene.md), without clock, agenda and agents.
//
// [Rules] are a compiled block [Turns]. A [State] is the order of one scene: [State.Decide]
// gives the next fact that is due, and [State.Apply] folds it, until Decide gives nil. What
// agents do is folded too ([State.Ended], [State.Interrupted], [State.Gone]). The caller asks
// at the end of each wave, and again at [State.Next]. It wakes no participant that
// [State.Gated] names, and wakes the agent that [Granted] names at Granted.Due.
//
// # Promises
//
//  1. Equal facts make equal states; Decide changes nothing.
//  2. A participant is gated unless it has a turn, or the order is loose: its policy is
//     free, or its director did not act in time and the fallback is free.
//  3. Every round ends before the next one begins. A turn belongs to a round.
//  4. A turn is over when its requests have taken effect: after its simulated latency. A
//     turn whose time limit has passed is forfeited; its requests take effect late.
//  5. No turn waits for an agent that has left. The rounds are over when all have left.
//  6. Decide gives nil after a number of steps that the participants bound.
//
// # Not here
//
// When agents are woken (engine/agenda), the waves (scenes/machines), which agents a
// selector names (scenes/load/setup).
package turns
