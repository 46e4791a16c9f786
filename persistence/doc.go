// Package persistence stores one journal of facts per scene, and snapshots that
// shorten recovery.
//
// A [Store] is a directory with one database and its snapshots; it contains the
// journals of several scenes. A [Journal] is one ordered list of facts in waves.
// [Journal.Append] stages a fact, and [Journal.CloseWave] ends the wave. The answer
// comes when the wave is durable, so the caller can compute the next wave meanwhile.
// Facts are stored in blocks, one value for thousands of facts;
// docs/formats/journal.md describes the bytes.
//
// You hold a Store and must close it, which closes its journals. A journal has
// one writer: one goroutine at a time may call Append, CloseWave and Close. Any
// goroutine may call everything else at any time. Each open journal has two
// goroutines, one that encodes and one that waits for the disk, unless it is [Store.Direct];
// Close ends them.
//
// # Promises
//
//  1. A wave is stored completely or not at all. Facts that were appended after the
//     last closed wave are gone at the next Open.
//  2. A wave that was answered with nil is stored: at level memory while the
//     store is open, at process after a kill of the process, at power after a
//     loss of power. Waves are answered, and become durable, in order.
//  3. The digest of a wave is SHA-256 of the previous digest and the wave's facts.
//     It depends on the scene's id and the facts, not on block sizes,
//     compression, snapshots, durability or interruptions.
//  4. Reading returns every fact of the durable waves once, in order, or an error
//     with the place and the reason ([Damage]). Memory does not grow with the
//     length of the journal.
//  5. A snapshot is used only if every byte of it is intact and its wave and
//     digest match the journal; otherwise the previous one is used. Snapshots
//     change nothing in the journal.
//  6. After a failed write nothing is answered with nil: Append and CloseWave
//     return the failure until the store is closed and opened again. Everything
//     that was answered is stored. Waves that were not answered may be stored or
//     not, in order from the first such wave.
//  7. Everything is bounded: when Options.StagedBlocks blocks wait for the
//     database, Append waits; when too many waves wait for the disk
//     (Options.OpenWaves), CloseWave waits. The Observer is told how long.
//  8. With Options.ReadOnly, Open takes no lock and writes nothing. It sees every
//     wave that was durable when it began, and nothing later, also while another
//     process writes.
//  9. [Journal.Follow] returns every fact once, in order, and only durable ones. It
//     costs the writer one look at a pointer per wave, and holds up neither Append
//     nor CloseWave; it can delay Close by 2 s at most.
//
// # Errors
//
// Conflict: another process uses the directory, or the scene already has a
// writer. Limit: a fact is too large, or the disk is full. Transient: another
// failure of the disk. Corrupt: stored bytes are damaged. Unavailable: a newer
// version wrote them. NotFound: no such journal, wave or fact. Cancelled: the
// journal is closed.
//
// # Not here
//
// The meaning of facts, the times of snapshots, and the callers that wait for an
// answer.
package persistence
