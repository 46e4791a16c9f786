// Package artifact keeps files that calls leave in a folder of the run, under the hash of
// their bytes.
//
// [New] makes a [Store] of a folder and touches nothing; the folder appears with the first
// file. All scenes of a run share one Store. It can be used by many goroutines and needs no
// Close.
//
// # Promises
//
//  1. When [Store.Put] returns an id, the file is whole and durable. A fact names it later.
//  2. A file that a bound refuses, or whose bytes cannot be read to the end, leaves nothing.
//  3. [Store.Read] gives the bytes of the id, or an error that says whether they are missing
//     or damaged.
//  4. Nothing outside of the folder is read or written, whatever lies in it.
//
// # Not here
//
// Which facts name a file (scenes/run/rundir); secrets in it, which the caller takes out
// before.
package artifact
