// Package agenda decides which agents of a scene deliberate, and when. It also holds
// the definition of a scene and the scene's own facts.
//
// A [State] is the agenda of one scene. Methods named after facts (TurnEnded, Heard,
// AgentFailed, …) change it; a running scene and a fold call them in the same order.
// [State.NextTime] only looks. [State.Take] takes the agents that are woken off the
// agenda; the fact of a turn's end puts its agent back. No snapshot is taken between.
//
// # Promises
//
//  1. Virtual time moves forward only, on the grid of the tick. The effects of an
//     event come one tick later at the earliest, so a conversation cannot continue
//     for ever within one moment.
//  2. A wave consists of all entries at the earliest time, ordered by priority,
//     then by ordinal. The order depends on facts alone.
//  3. An agent is woken once per wave, for any number of causes.
//  4. An agent that failed too often in a row is given up and never woken.
//  5. A blocked agent is not woken before the receivers of its events have had a
//     turn. Agents never wait in a circle, so every one of them is woken again.
//  6. A gated agent is woken by nothing but State.Call, and by something critical if its
//     gate says so. When the gate opens, what it missed wakes it.
//  7. An agent with a ceiling is woken for nothing before the ceiling lets it.
//
// # Not here
//
// Actors (package actors), and the steps of a wave (scenes/machines).
package agenda
