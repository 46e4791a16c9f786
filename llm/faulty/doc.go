// Package faulty makes the answers of a model bad, as servers do: the faults of a model
// file of the kind faulty (docs/formats/providers.md), by the names that simd mock-llm
// has for them.
//
// # Promises
//
//  1. Which fault a request gets depends on its chance, the model file and the attempt
//     alone: a replay is equal.
//  2. A fault that is a failure comes in place of the request: nobody is asked.
//  3. A fault of the answer changes what the model said, and its tokens stay counted.
//
// # Not here
//
// Faults that only a connection has: bodies in parts, pages of HTML, resets.
package faulty
