// Package audit keeps a file with what was called outside of runs: a line for each beginning
// and each end, chained by hashes.
//
// A [Log] appends to a file, and may share it with other processes. [Check] reads the files
// of a log and says where the chain breaks.
//
// # Promises
//
//  1. A line is on the disk when Begin or End returns. A call that cannot be noted is not
//     made.
//  2. Each line has the SHA-256 of the line before, across files: a line that was changed,
//     put in, taken out or moved is found. Lines that were cut off the end are found by a
//     reader that knows the hash of one of them.
//  3. What a kill left of a line is cut off by the next writer.
//  4. A line has at most [MaxLine] bytes, a file about [MaxFile], and a log [MaxFiles] files:
//     the oldest are deleted.
//
// # Not here
//
// What must not stand in a line (the caller masks the parameters); calls within a
// run, which its journal has.
package audit
