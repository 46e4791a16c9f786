// Package turns decides whose turn it is in a scene: the machine of the block turns of a
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
//     free, or its director was waited for in vain and the fallback is free.
//  3. Every round that began ends before the next one begins. A turn lies in a round.
//  4. A turn is over when its requests have taken effect: after its simulated latency. A
//     turn whose time limit has passed is forfeited; what it asked for comes late.
//  5. Nobody waits for an agent that is gone. Without anybody left the rounds are over.
//  6. Decide gives nil after a number of steps that the participants bound.
//
// # Not here
//
// When agents are woken (engine/agenda), the waves (scenes/machines), which agents a
// selector names (scenes/load/setup).
package turns
