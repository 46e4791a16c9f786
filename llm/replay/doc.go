// Package replay gives the recorded answers of earlier runs again. Its file, the
// cassette (docs/formats/cassette.md), has one answer a line.
//
// # Promises
//
//  1. A cassette that was written is read equal.
//  2. A question gets, first, what the same request of the same turn of the same agent
//     got; else what the agent got to this question in the nearest turn, a later one
//     rather than an earlier one; else, if the request is at temperature 0, the first
//     answer that anybody got. So which answer it is depends on the request alone.
//  3. A recorded failure is given to the same request only.
//  4. Of a question without a recorded answer, Missed names the nearest one and, if the
//     cassette has situations, the first difference of the two.
//  5. A line that cannot be read is an error with its number; nothing of the file is used.
//
// # Not here
//
// Asking a model when nothing was recorded (llm/models), and finding the answers in a
// journal (scenes/run/rundir).
package replay
