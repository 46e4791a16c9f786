// Package export writes what a run kept as tables that other programs read:
// JSON lines, CSV and Parquet (docs/formats/export.md).
//
// You give [Write] an open scene of a run, the name of a table, a [Format] and
// where the rows go. [Create] makes a file that is there whole or not at all;
// you owe it Keep or Drop.
//
// # Promises
//
//  1. Equal runs and options give equal rows in equal order; the text formats
//     give equal bytes.
//  2. Rows are written while they are read. Facts and events need memory for one
//     group of rows; series need the state of the scene besides, and the last
//     value of every path that they follow.
//  3. Rows are those of a journal that was held to its digests before the first
//     of them was written, as a replay holds it.
//  4. A file under its own name is complete. What was interrupted leaves nothing,
//     or a name that ends in .partial.
//
// # Not here
//
// What facts mean, and which moment a text names: scenes/inspect.
package export
