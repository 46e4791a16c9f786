// Package persistence keeps what happened: one journal of facts per scene, and
// snapshots that shorten the way back.
//
// A [Store] is a directory with one database and the snapshots beside it; it
// holds the journals of several scenes. A [Journal] is one ordered list of facts
// in waves: [Journal.Append] stages a fact, [Journal.CloseWave] ends the wave,
// and the answer comes when the wave is durable, so that the next one can be
// computed meanwhile. Facts become blocks, one stored value for thousands of
// them; docs/formats/journal.md has the bytes.
//
// You hold a Store and owe it Close, which closes its journals. A journal has
// one writer: Append, CloseWave and Close are called by one goroutine at a time.
// Everything else may be called by anybody at any time. Each open journal has
// two goroutines, one that encodes and one that waits for the disk; Close ends
// them.
//
// # Promises
//
//  1. A wave is kept whole or not at all. What was appended after the last
//     closed wave is gone at the next Open.
//  2. A wave that was answered with nil is kept: at level memory while the
//     store is open, at process after a kill of the process, at power after a
//     loss of power. Waves are answered, and become durable, in order.
//  3. The digest of a wave is SHA-256 of the digest before and the wave's facts.
//     It depends on the scene's id and the facts: not on block sizes,
//     compression, snapshots, durability or interruptions.
//  4. Reading gives every fact of the durable waves once, in order, or an error
//     that says where it stopped and why ([Damage]). Memory does not grow with
//     the length of the journal.
//  5. A snapshot is used only when every byte of it is as it was written and its
//     wave and digest are the journal's; otherwise the one before it is.
//     Snapshots change nothing in the journal.
//  6. After a failed write nothing is answered with nil any more: Append and
//     CloseWave return the failure until the store is closed and opened again.
//     Nothing that was answered is lost; waves that were not answered may be
//     there or not, from the first such wave on in order.
//  7. Everything is bounded: when Options.StagedBlocks blocks wait for the
//     database, Append waits; when too many waves wait for the disk
//     (Options.OpenWaves), CloseWave waits; the Observer is told for how long.
//
// # Errors
//
// Conflict: the directory is another process's, or the scene has a writer
// already. Limit: a fact is too large, or the disk is full. Transient: the disk
// failed otherwise. Corrupt: stored bytes are damaged. Unavailable: a newer
// version wrote them. NotFound: no such journal, wave or fact. Cancelled: the
// journal is closed.
//
// # Not here
//
// What facts mean, when snapshots are taken, and who waits for an answer.
package persistence
