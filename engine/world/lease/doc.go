// Package lease contains the leases of one world document. A lease gives one agent the
// exclusive right to write at, above or below some paths, until a time.
//
// [Leases] is a value. Acquire, Release and Expire decide and return facts; Apply
// folds a fact. Check tells package world which writes to refuse ([world.Locks]).
//
// # Promises
//
//  1. Until its time is over, only the holder of a lease may write at, above or below its
//     paths.
//  2. A deadlock cannot arise. Nobody waits: a request that meets a foreign lease
//     is refused at once. A lease takes all its paths or none, and a holder has at
//     most one, so nobody holds one lease while asking for another.
//  3. Leases are read as they were written, and damaged bytes are refused.
//  4. A decision, and folding a fact, cost the logarithm of the number of leases
//     for each path, and a copy costs nothing. Only a path with a negative list index
//     costs the leases on that list.
//
// # Not here
//
// When leases expire, the answers to requests, the snapshot (package worldstate).
package lease
