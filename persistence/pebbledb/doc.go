// Package pebbledb is the ordered key-value store under a journal: Pebble behind
// a door of its own, opened for few large values that are written in key order
// and read in key order. No other package imports Pebble.
//
// You hold a [DB] and owe it Close; what you start from it (batches, iterators)
// ends before. A DB is safe for concurrent use, a [Batch] and an [Iter] are not.
//
// # Promises
//
//  1. What [Batch.Wait] has answered with nil is kept to the level's promise:
//     [Memory] nothing beyond the process, [Process] after a kill of the
//     process, [Power] after a loss of power.
//  2. Batches become durable in the order in which they were started: a later
//     one is never kept without an earlier one.
//  3. The first failed write of any file ends writing: from then on nothing
//     reaches the disk, every Wait answers with that failure ([DB.Err]), and
//     the disk stays as a kill of the process at that moment would have left
//     it. Close it, remove the cause, open it again. Pebble itself would end
//     the process.
//  4. One directory has one owner. A second Open fails with
//     [protocol.KindConflict] and names the owner where it is known. The lock
//     is the operating system's and ends with the process: a lock file left
//     behind is no obstacle, and [DB.Unclean] tells that it was left.
//
// # Why level Process syncs and does not
//
// Pebble copies a batch into 32 KiB blocks in its own memory and a goroutine
// writes them out later; a commit without sync returns before that, and a kill
// loses it. A commit with sync is answered after the bytes were written to the
// file and the file synced. So Process commits with sync, over a file system
// whose write-ahead logs take a sync for done: the bytes are the operating
// system's by then, which is what a kill cannot take back. Tables and manifests
// are synced at every level: a lost log then costs the newest facts and leaves
// the database readable.
//
// # Not here
//
// What keys and values mean.
package pebbledb
