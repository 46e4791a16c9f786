// Package lenient reads the JSON in what a language model wrote.
//
// [Parse] takes the text as it came: with reasoning blocks, code fences, prose
// around the value, comments, single or curly quotes, full-width punctuation,
// Python literals, bare keys, missing or extra commas, or cut off. You get the
// value and one warning per kind of repair; clean JSON gives no warning.
//
// # Promises
//
//  1. A text that is valid JSON gives exactly that value and no warning.
//  2. Nothing is invented: keys and texts in the value stood in the text. What
//     was cut off is left out, except that an open text keeps what there is.
//  3. Time is linear in the text for every starting place, of which [MaxStarts]
//     are tried; nothing panics; nesting is bounded by protocol.MaxDepth and the
//     text by [MaxText].
//
// # What is not here
//
// Schemas, and calls: package tam reads those.
package lenient
