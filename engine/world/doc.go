// Package world holds the versioned world document and the machine that
// changes it.
//
// A [Document] is an immutable snapshot: a pointer that anybody may keep and
// read, from any goroutine, without a lock. [Machine.Decide] takes a document
// and a [Commit] of requests in a given order and returns facts and the next
// document; [Apply] folds a fact. Documents share every part that did not
// change, so a commit costs in proportion to what it touches, also below one
// object with a million children. Inside one commit each touched node is copied
// once and then edited in place.
//
// An [Editor] is the private workbench of one commit; package statecmd builds
// on it.
//
// # Promises
//
//  1. A document never changes. What Get and Value return is shared between all
//     readers and must not be written.
//  2. The version grows by one per commit that changed something; a commit in
//     which every request was refused returns the same document.
//  3. Every request of a commit appears exactly once: as a change of the
//     [Committed] fact or as a [Refused] fact with what was found, what was
//     expected and the version it was compared with.
//  4. A request with an expected version is refused when its path, an ancestor
//     that was replaced or deleted, or anything below it was written after that
//     version; a sibling's change does not matter. One exception errs on the
//     safe side: a missing key of an object that lost more than
//     [MaxGraves] keys since is compared with the oldest forgotten loss.
//  5. Folding the facts gives the same document, byte for byte, versions
//     included ([Document.AppendSnapshot]).
//  6. Output is canonical: keys in byte order, integers and floats kept apart
//     (a float always shows a point or an exponent in JSON).
//
// # One atomic
//
// Each container remembers the value that was built from it for a reader
// (sync/atomic, the only shared write of the package). Two readers that race
// build equal values and one of them stays; nothing observable depends on it.
//
// # Not here
//
// Who may subscribe to a path, the actor and its mailbox, the journal.
package world
