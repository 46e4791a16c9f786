// Package effect is what an agent and the outside say to each other: the request
// that a deliberation makes, [Ask], and the answer to it, [Answered].
//
// The machine in engine/agent returns an Ask as its only effect. The shell carries it out
// (package scenes/outside) and gives back an Answered of the same kind and number.
//
// # Promises
//
//  1. An Answered has the same bytes in every log of effects; those of earlier
//     programs are read. An answer without artifacts or Origin has the bytes that it
//     had before these existed.
//  2. What is read from bytes and written again gives the same bytes. Bytes that are
//     cut are refused.
//  3. [Answered.Settle] makes of an answer what is read from its bytes.
//
// # Not here
//
// Engine/agent decides what is asked, and what an answer changes. Engine/agent/agentfact
// has the facts that keep answers. Scenes/outside has the log.
package effect
