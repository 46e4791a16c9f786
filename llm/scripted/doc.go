// Package scripted is the language model without a network: rules in a file
// decide what it says. It is the default of every project, of tests and of
// benchmarks.
//
// You hold a [Model], made of a project's file by [Read] or [Load], or the
// embedded default by [Default]. It is an llm.Instant: Answer computes at once
// and says in Latency what the model would have taken; Complete really waits
// that long. docs/formats/model.md describes the file.
//
// # Promises
//
//  1. The answer depends on the script and the request alone; chance comes from
//     the request's Draw. Equal requests get equal answers, in any order, on any
//     number of goroutines.
//  2. Every rule, every answer and every use (match, weights, text, latency,
//     failure) draws from a stream of its own: a rule that is added or changed
//     does not move the numbers of the others, unless it changes their places.
//  3. Everything is compiled and checked when the script is read: templates,
//     expressions, patterns, probabilities. All faults are reported, with file,
//     line and column.
//  4. What can go wrong when answering (a template names a variable that the
//     prompt lacks) is an llm.Failure with outcome bad_request that names rule
//     and place.
//  5. Tokens are estimated by [EstimateTokens], always the same way.
//
// # Bounds
//
// 10,000 rules, 1,000 answers of a rule, 256 calls of an answer; text as package
// engine/template bounds it; expressions as package engine/expr does.
//
// # Cost
//
// A rule that does not match costs tens of nanoseconds: rules are found by
// profile, and what is cheap to test is tested first. BenchmarkAnswer holds the
// figure.
package scripted
