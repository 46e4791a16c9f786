// Package artifact stores files that calls leave, in a folder of the run, under the hash of
// their bytes.
//
// [New] makes a [Store] of a folder and writes nothing; the first file creates the
// folder. All scenes of a run share one Store. It is safe for concurrent use and needs no
// Close.
//
// # Promises
//
//  1. When [Store.Put] returns an id, the file is complete and durable. A fact names it later.
//  2. A file that a bound refuses, or whose bytes cannot be read to the end, leaves nothing.
//  3. [Store.Read] gives the bytes of the id, or an error that says whether they are missing
//     or damaged.
//  4. Nothing outside the folder is read or written, whatever the folder contains.
//
// # Not here
//
// Which facts name a file (scenes/run/rundir); secrets in it, which the caller removes
// before.
package artifact
