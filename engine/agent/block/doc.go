// Package block has the dependencies between the calls of one block: the references
// in their parameters, the results that these name, and which calls run in parallel.
//
// # Promises
//
//  1. [Substitute] replaces references in values only, once: it does not read inserted text
//     again. A value that is one reference keeps the type of its target. Unknown
//     references stay unchanged and are listed.
//  2. Text inserted into a JSON string stays within that string.
//  3. A step waits only for steps before it, so [Order] always gives an order in which all
//     run.
//  4. The results of a [Batch] are kept in the order of its block, whatever order they come in.
package block
