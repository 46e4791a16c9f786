// Package world contains the versioned world document and the machine that
// changes it.
//
// A [Document] is an immutable snapshot: any goroutine may keep and read the
// pointer without a lock. [Machine.Decide] takes a document and an ordered [Commit]
// of requests and returns facts and the next document. [Apply] folds a fact.
// Documents share every part that did not change, so the cost of a commit is
// proportional to what it touches, even below an object with a million children.
// Inside one commit each touched node is copied once and then edited in place.
//
// An [Editor] is the private workspace of one commit; package statecmd builds
// on it.
//
// # Promises
//
//  1. A document never changes. All readers share the results of Get and Value,
//     which must not be written.
//  2. The version grows by one per commit in which a request was carried out. A
//     commit in which every request was refused returns the same document.
//  3. Every request of a commit appears exactly once: as a change of the
//     [Committed] fact, or as a [Refused] fact with the reason and the version of
//     the document at that moment.
//  4. A request with an expected version is refused if its path, an ancestor
//     that was replaced or deleted, or anything below it was written after that
//     version; a sibling's change does not matter. One exception may refuse too
//     much: a missing key of an object that has lost more than [MaxGraves] keys
//     since is compared with the oldest forgotten loss.
//  5. Folding the facts gives the same document, byte for byte, including
//     versions ([Document.AppendSnapshot]).
//  6. Output is canonical: keys in byte order, integers and floats distinct
//     (a float always shows a point or an exponent in JSON).
//
// # One atomic
//
// Each container caches the value that a reader built from it (sync/atomic, the
// only shared write of the package). Two readers that race build equal values and
// one of them stays; the race has no observable effect.
//
// # Not here
//
// Permission to subscribe to a path, the actor and its mailbox, the journal.
package world
