// Package llm is the contract between the engine and language models: one
// [Provider] per kind of model, and the errors that every provider gives.
//
// The shell that runs deliberations holds a Provider and calls it for every
// model call that a machine asked for. It owes a context that ends when nobody
// waits any more, and it owns limits, retries, records and budgets: those are
// wrappers ([Wrapper]) around a Provider, not parts of one.
//
// # What a provider promises
//
//  1. Complete answers exactly once, with an answer or an error, never both, and
//     returns soon after its context ends ([OutcomeCancelled], or
//     [OutcomeTimeout] when the deadline passed).
//  2. Complete is safe for concurrent use. It only reads the request.
//  3. With a sink, the chunks in order are the answer: their texts joined are
//     its text, their calls are its calls. A sink's error ends the call and is
//     what Complete returns. The sink is not called after Complete has returned.
//  4. A failure is a [*Failure] with an outcome; [Retryable] says whether
//     asking again can help.
//  5. The answer is finished: Finish is set, calls have ids that are unique
//     within it, tokens are counted (estimated where the model gives no count).
//  6. ModelRequest.Timeout is kept, also without a deadline in the context.
//
// # What may be called twice
//
// Complete has no effect but its cost, so it may be repeated; a repetition may
// be billed again and may answer differently. The shell records answers and
// repeats a request only when the process ended while it was out. A provider
// whose requests do something (an agent behind an interface of models, tools on
// the server's side) says so by [Repeater]: such a request is never repeated,
// and who asked is told that its outcome is unknown. [Instant.Answer] may be
// repeated and answers the same; it is not recorded. Close may be repeated;
// after it Complete fails with protocol.KindUnknown.
//
// Package llmtest checks all of it; a provider is done when its suite passes.
//
// # What is not here
//
// Prompts, the parsing of calls in text, and which model an agent uses.
package llm
