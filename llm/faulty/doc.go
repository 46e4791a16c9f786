// Package faulty injects faults into the answers of a model, as servers produce them: the faults of a model
// file of the kind faulty (docs/formats/providers.md), with the names of simd mock-llm.
//
// # Promises
//
//  1. The fault of a request depends on its draw, the model file and the attempt
//     alone: a replay is equal.
//  2. A fault that is a failure replaces the request: the model is not asked.
//  3. A fault of the answer changes the text of the model, and its tokens stay counted.
//
// # Not here
//
// Faults that only a connection has: bodies in parts, pages of HTML, resets.
package faulty
