// Package source reads definition files: JSON with comments or YAML becomes one
// tree whose every key and element knows its file, line and column, and a tree
// becomes a struct, strictly.
//
// Hand [Parse] the bytes of a file; it gives a [Document] or puts what is wrong
// into a [Report]. A [Decoder] fills structs from nodes by their json tags and a
// table of [Rules], and [Decoder.Schema] writes the JSON Schema of the same
// structs from the same table, so an editor and the loader agree.
//
// # Promises
//
//  1. Both notations give equal trees: text keys, int64 or float64 numbers, and
//     nothing that protocol.Normalize would refuse. Dates stay text as written.
//  2. What two YAML readers may read differently is refused with both readings:
//     012, 1_000, unknown tags. In both notations a key given twice is refused.
//  3. Every fault is reported, not the first: a syntax error ends a file, all
//     else goes on.
//  4. Bytes, nesting and nodes are bounded by [Limits]; aliases count as what
//     they expand to. No input panics.
//  5. Lines and columns count from 1; a column counts characters, not bytes.
//
// # Not here
//
// What the definitions mean, and any file access.
package source
