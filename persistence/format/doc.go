// Package format holds the bytes of a journal: keys, facts, blocks, index
// entries, scene heads and snapshot files, as docs/formats/journal.md writes
// them down.
//
// You hold buffers and owe them back to nobody: encoders append to what they
// are given, decoders return slices of what they were given. Nothing here reads
// a file or keeps anything.
//
// # Promises
//
//  1. Equal arguments give equal bytes.
//  2. Bytes from outside never panic and never allocate more than they hold or
//     than a stated limit allows.
//  3. A newer version is refused with [protocol.KindUnknown], damage with
//     [protocol.KindCorrupt]; both say what was found and what was expected.
//  4. A decoder takes only what its encoder writes: decoding and encoding again
//     gives the same bytes.
//
// # Not here
//
// Where the bytes are kept, how durable they are, and what a fact's data means.
package format
