// Package agenda says whose turn it is in a scene, and when. It also holds the
// scene's definition and the facts of the scene itself.
//
// A [State] is the scene's own machine state. It changes through its methods
// named after facts (TurnEnded, Heard, Failed, ...), which the running scene
// and the replay of a journal call in the same order; looking at what is next
// ([State.NextTime], [State.Take]) is separate from changing it.
//
// # Promises
//
//  1. Virtual time moves on the grid of the tick, forward only. What an event
//     causes happens one tick later or more, so a conversation cannot go on
//     for ever within one moment.
//  2. A wave is every entry at the earliest time, in the order of priority,
//     then of the agents' ordinals. The order depends on facts alone.
//  3. An agent is woken once per wave, however many causes there were.
//  4. An agent that failed too often in a row is given up and never woken.
//  5. An agent that is blocked is not woken before the receivers of its events
//     have had a turn; nobody waits in a circle, so everybody is woken again.
//
// # Not here
//
// Running anything: actors drive, scenes join.
package agenda
