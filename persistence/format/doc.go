// Package format encodes and decodes the bytes of a journal: keys, facts, blocks,
// index entries, scene heads and snapshot files, as docs/formats/journal.md
// describes them.
//
// You own all buffers: encoders append to their argument, and decoders return
// slices of their argument. The package reads no file and keeps nothing.
//
// # Promises
//
//  1. Equal arguments give equal bytes.
//  2. Bytes from outside never cause a panic, and never an allocation beyond their
//     own size or a stated limit.
//  3. A newer version is refused with [protocol.KindUnknown], damage with
//     [protocol.KindCorrupt]; both errors name the bytes found and those expected.
//  4. A decoder accepts only what its encoder writes: decoding and encoding again
//     gives the same bytes.
//
// # Not here
//
// The place and durability of the bytes, and the meaning of a fact's data.
package format
