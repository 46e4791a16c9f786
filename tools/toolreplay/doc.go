// Package toolreplay answers calls of tools, and questions to people about calls, with the answers
// of an earlier run. A run keeps them in a folder of its own.
//
// # Promises
//
//  1. Reading a written folder gives equal answers, to the last bit of a number.
//  2. A call gets the recorded answer of the same call of the same turn of the same agent.
//     Otherwise it gets this agent's answer in the nearest turn, a later one rather than an earlier one.
//     Otherwise it gets the first answer of any agent. An output has precedence over a failure. So the answer
//     depends on the call alone.
//  3. For a call without a recorded answer, Missed names the nearest one of its agent.
//  4. A line that cannot be read is an error with its number; nothing of the folder is used.
//
// # Not here
//
// Finding the answers in a journal (scenes/view/verify), and using them in a scene
// (scenes/tooling).
package toolreplay
