// Package audit records calls outside of runs in a file: a line for each beginning
// and each end, chained by hashes.
//
// A [Log] appends to a file, and may share it with other processes. [Check] reads the files
// of a log and says where the chain breaks.
//
// # Promises
//
//  1. A line is on the disk when Begin or End returns. A call that cannot be recorded is not
//     made.
//  2. Each line has the SHA-256 of the line before, across files: Check finds a line that was changed,
//     inserted, removed or moved. A reader that knows the hash of a line finds out that lines were cut
//     off the end.
//  3. The next writer removes an incomplete line that a kill left.
//  4. A line has at most [MaxLine] bytes, a file about [MaxFile], and a log [MaxFiles] files:
//     the oldest are deleted.
//
// # Not here
//
// Secrets in a line (the caller masks the parameters); calls within a
// run, which its journal has.
package audit
