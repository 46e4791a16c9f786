// Package source reads definition files. JSON with comments or YAML becomes one
// tree whose keys and elements have a file, line and column, and a tree
// becomes a struct, strictly.
//
// [Parse] takes the bytes of a file and returns a [Document], or adds faults to a
// [Report]. A [Decoder] fills structs from nodes by their json tags and a
// table of [Rules]. [Decoder.Schema] writes the JSON Schema of the same
// structs from the same table, so an editor and the loader agree.
//
// # Promises
//
//  1. Both notations give equal trees: text keys, int64 or float64 numbers, and
//     nothing that protocol.Normalize would refuse. Dates stay text as written.
//  2. Anything that two YAML readers may read differently is refused, with both
//     readings: 012, 1_000, unknown tags. In both notations a repeated key is
//     refused.
//  3. All faults are reported, not only the first. A syntax error ends its file;
//     after any other fault reading continues.
//  4. Bytes, nesting and nodes are bounded by [Limits], before a tree is built of
//     them; aliases count in their expanded form. No input causes a panic.
//  5. Lines and columns count from 1; a column counts characters, not bytes.
//
// # Not here
//
// The meaning of definitions, and any file access.
package source
