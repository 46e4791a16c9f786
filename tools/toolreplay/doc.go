// Package toolreplay gives the answers again that calls of tools got in an earlier run, and
// that people gave to questions about calls. A run keeps them in a folder of its own.
//
// # Promises
//
//  1. A folder that was written is read equal, to the last bit of a number.
//  2. A call gets what the same call of the same turn of the same agent got; else what came of
//     it for this agent in the nearest turn, a later one rather than an earlier one; else the
//     first answer that anybody got to it. An output comes before a failure. So which answer
//     it is depends on the call alone.
//  3. Of a call without a recorded answer, Missed names the nearest one of its agent.
//  4. A line that cannot be read is an error with its number; nothing of the folder is used.
//
// # Not here
//
// Finding the answers in a journal (scenes/view/verify), and giving them to a scene
// (scenes/tooling).
package toolreplay
