// Package agentfact has the facts that an agent decides, and their bytes
// (docs/formats/facts.md).
//
// Readers of histories need this package and not the machine that decides the facts.
// [Facts] lists the kinds for a codec. A fact that keeps an answer of the outside is a
// [Recorded]: it gives the answer back, so that a deliberation can be decided again.
//
// # Promises
//
//  1. The facts of every deliberation have hand-written codec methods. Their
//     bytes are those that the codec would write.
//  2. Facts of earlier programs are read: missing fields are zero.
//  3. Bytes that are too short or too long are refused.
//
// # Not here
//
// Engine/agent decides the facts and applies them. Facts about agents that other machines
// decide are in engine/agenda, engine/bus and engine/worldstate.
package agentfact
