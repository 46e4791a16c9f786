// Package block is what the calls of one block have to do with one another: the references
// in their parameters, the results that these name, and which calls run beside others.
//
// # Promises
//
//  1. [Substitute] replaces references in values only, once: what it puts in is not read
//     again. A value that is one reference keeps the type of what it names. What nobody
//     knows stays as it was and is listed.
//  2. What is put into a text that is read as JSON later stays within its JSON string.
//  3. A step waits only for steps before it, so [Order] always gives an order in which all
//     run.
//  4. The results of a [Batch] are kept in the order of its block, whatever order they come in.
package block
