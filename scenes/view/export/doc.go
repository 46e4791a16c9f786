// Package export writes the data of a run as tables for other programs:
// JSON lines, CSV and Parquet (docs/formats/export.md).
//
// You give [Write] an open scene of a run, the name of a table, a [Format] and
// the destination of the rows. [Files] copies artifacts.
//
// # Promises
//
//  1. Equal runs and options give equal rows in equal order; the text formats
//     give equal bytes.
//  2. Rows are written while they are read. Facts and events need memory for one
//     group of rows; series also need the state of the scene, and the last
//     value of every selected path.
//  3. Before the first row, the journal is checked against its digests, like in a
//     replay.
//
// # Not here
//
// The meaning of facts, and the moment that a text names: scenes/view/inspect.
package export
