// Package llm is the contract between the engine and language models: one
// [Provider] per kind of model, and the errors of all providers.
//
// The shell that runs deliberations holds a Provider and calls it for every model
// call that a machine requests. It must pass a context that ends when no caller waits
// for the answer. Limits, retries, records and budgets belong to the shell: they are
// wrappers around a Provider, not parts of one.
//
// # The promises of a provider
//
//  1. Complete answers exactly once, with an answer or an error, never both, and
//     returns soon after its context ends ([OutcomeCancelled], or
//     [OutcomeTimeout] if the deadline passed).
//  2. Complete is safe for concurrent use. It only reads the request.
//  3. With a sink, the chunks in order are the answer: their texts joined are
//     its text, their calls are its calls. A sink's error ends the call, and
//     Complete returns it. The sink is not called after Complete has returned.
//  4. A failure is a [*Failure] with an outcome; the outcome says whether
//     another attempt can help.
//  5. The answer is complete: Finish is set, calls have ids that are unique
//     within it, tokens are counted (estimated if the model gives no count).
//  6. ModelRequest.Timeout is enforced, even without a deadline in the context.
//
// # Repeated calls
//
// Complete has no effect except its cost, so it may be repeated; a repetition may
// be billed again and may answer differently. The shell records answers and
// repeats a request only if the process ended during the request. A provider
// whose requests have effects (an agent behind an interface of models, tools on
// the server's side) declares that with [Repeater]: such a request is never
// repeated, and the caller is told that its outcome is unknown. [Instant.Answer]
// may be repeated and gives the same answer; it is not recorded. Close may be
// repeated; after it Complete fails with protocol.KindUnknown.
//
// Package llmtest checks all of this; a provider is done when its suite passes.
//
// # Not here
//
// Prompts, the parsing of calls in text, and the choice of an agent's model.
package llm
