// Package scripted is the language model without a network: it answers by rules in
// a file. It is the default of every project, of tests and of benchmarks.
//
// You hold a [Model], made from a project's file by [Read] or [Load], or the
// embedded default by [Default]. It is an llm.Instant: Answer computes at once
// and reports in Latency how long the model would have taken; Complete really
// waits that long. docs/formats/model.md describes the file.
//
// # Promises
//
//  1. The answer depends on the script and the request alone; chance comes from
//     the request's Draw. Equal requests get equal answers, in any order, on any
//     number of goroutines.
//  2. Every rule, every answer and every use (match, weights, text, latency,
//     failure) draws from a separate stream: adding or changing a rule does not
//     change the numbers of the others, unless their order changes.
//  3. Everything is compiled and checked when the script is read: templates,
//     expressions, patterns, probabilities. All faults are reported, with file,
//     line and column.
//  4. A problem during an answer (a template names a variable that the prompt
//     lacks) is an llm.Failure with outcome bad_request that names rule and
//     place.
//  5. Tokens are estimated by [EstimateTokens], always in the same way.
//
// # Bounds
//
// 10,000 rules, 1,000 answers of a rule, 256 calls of an answer. Package
// engine/template bounds text, and package engine/expr bounds expressions.
//
// # Cost
//
// A rule that does not match costs tens of nanoseconds: rules are found by
// profile, and cheap tests come first. BenchmarkAnswer has the figure.
package scripted
