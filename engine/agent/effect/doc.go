// Package effect has the messages between an agent and the outside: the request
// of a deliberation, [Ask], and its answer, [Answered].
//
// The machine in engine/agent returns an Ask as its only effect. The shell carries it out
// (package scenes/outside) and gives back an Answered of the same kind and number.
//
// # Promises
//
//  1. An Answered has the same bytes in every log of effects; those of earlier
//     programs are read. An answer without artifacts or Origin has the bytes that it
//     had before these existed.
//  2. Reading bytes and writing them again gives the same bytes. Truncated bytes
//     are refused.
//  3. [Answered.Settle] gives an answer the form that reading its bytes gives.
//
// # Not here
//
// Engine/agent decides about requests and the effects of answers. Engine/agent/agentfact
// has the facts that keep answers. Scenes/outside has the log.
package effect
