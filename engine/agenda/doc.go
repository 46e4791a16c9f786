// Package agenda decides which agents of a scene deliberate, and when. It also holds
// the definition of a scene and the scene's own facts.
//
// A [State] is the agenda of one scene. Methods named after facts (TurnEnded, Heard,
// AgentFailed, …) change it; a running scene and a fold call them in the same order.
// [State.NextTime] only reads. [State.Take] removes the agents that are woken from the
// agenda; the fact of a turn's end puts its agent back. No snapshot is taken between.
//
// # Promises
//
//  1. Virtual time moves only forward, in whole ticks. The effects of an
//     event come one tick later at the earliest, so a conversation cannot continue
//     without end within one moment.
//  2. A wave consists of all entries at the earliest time, ordered by priority,
//     then by ordinal. The order depends on facts alone.
//  3. An agent is woken once per wave, for any number of causes.
//  4. An agent that failed too often in a row is given up and never woken.
//  5. A blocked agent is not woken before the receivers of its events have had a
//     turn. Agents never wait in a cycle, so each of them is woken again.
//  6. Only State.Call wakes a gated agent, and a critical event if its
//     gate says so. When the gate opens, missed causes wake it.
//  7. Nothing wakes an agent while its ceiling forbids it.
//
// # Not here
//
// Actors (package actors), and the steps of a wave (scenes/machines).
package agenda
