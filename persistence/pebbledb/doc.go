// Package pebbledb is the ordered key-value store under a journal: a small
// interface to Pebble, opened for few large values that are written in key order
// and read in key order. No other package imports Pebble.
//
// You hold a [DB] and must close it, after the batches and iterators that you
// started from it. A DB is safe for concurrent use, a [Batch] and an [Iter] are not.
//
// # Promises
//
//  1. A batch that [Batch.Wait] has answered with nil is kept as the level
//     promises: [Memory] only in the process, [Process] after a kill of the
//     process, [Power] after a loss of power.
//  2. Batches become durable in the order in which they were started: a later
//     one is never kept without an earlier one.
//  3. The first failed write of any file ends writing. After it nothing reaches
//     the disk, every Wait answers with that failure ([DB.Err]), and the disk
//     stays as a kill of the process at that moment would have left it. Close
//     the DB, remove the cause, open it again. Pebble itself would end the
//     process.
//  4. One directory has one owner. A second Open fails with
//     [protocol.KindConflict] and names the owner if it is known. The lock
//     belongs to the operating system and ends with the process: a remaining lock
//     file is no obstacle, and [DB.Unclean] reports it.
//
// # Why level Process commits with sync and does not sync
//
// Pebble copies a batch into 32 KiB blocks in its own memory, and a goroutine
// writes them later. A commit without sync returns before that, and a kill
// loses it. A commit with sync is answered after the bytes were written to the
// file and the file was synced. Therefore Process commits with sync, over a file
// system whose write-ahead logs ignore syncs: by then the operating system has the
// bytes, and a kill cannot lose them. Tables and manifests are synced at every
// level: a lost log then costs the newest facts and leaves the database readable.
//
// # Not here
//
// The meaning of keys and values.
package pebbledb
