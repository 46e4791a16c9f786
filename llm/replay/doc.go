// Package replay answers requests with the recorded answers of earlier runs. Its file, the
// cassette (docs/formats/cassette.md), has one answer a line.
//
// # Promises
//
//  1. Reading a written cassette gives an equal one.
//  2. A request gets the recorded answer of the same request of the same turn of the same agent.
//     Otherwise it gets the agent's answer to this question in the nearest turn, a later one
//     rather than an earlier one. Otherwise, at temperature 0, it gets the first
//     recorded answer of any agent. So the answer depends on the request alone.
//  3. A recorded failure is given only to the same request.
//  4. For a question without a recorded answer, Missed names the nearest one and, if the
//     cassette has situations, the first difference of the two.
//  5. A line that cannot be read is an error with its number; nothing of the file is used.
//
// # Not here
//
// Asking a model when there is no recorded answer (llm/models), and finding the answers in a
// journal (scenes/run/rundir).
package replay
