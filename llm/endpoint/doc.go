// Package endpoint reaches the servers of models. It reads the file in which a user
// names endpoints and keys (docs/formats/providers.md), and makes requests to them
// within time-outs.
//
// [Read] reads the file, [New] makes an [Endpoint] of each definition; you must call
// Close. A [Model] is the provider of one model; a [Protocol] writes its requests and
// reads the [Reply], whole or as [Events].
//
// # Promises
//
//  1. A key is read from a file or a variable and leaves only in the header of a
//     request to the endpoint's own address: redirects are not followed. [Endpoint.Hide]
//     takes it out of text that comes back, and with it what the user gives in headers
//     and query (words of 8 characters or more, but not versions and names), also in hex and
//     base64 if it has 8 characters. Every error
//     of this package, every answer and every chunk for a sink went through it; a chunk
//     that may end with the beginning of a secret is held back.
//  2. Every request ends: connecting, the first byte, silence between two bytes and
//     the whole each have a bound, and the error names the one that was reached.
//  3. A failure is an [*llm.Failure] whose outcome follows the status and the error
//     in the body (docs/formats/providers.md, outcomes), with what the endpoint says about waiting.
//  4. An answer is at most [MaxAnswer] bytes, and a line of a stream [MaxLine].
//  5. When a provider is closed, its requests that are out fail with llm.OutcomeClosed.
//
// # Not here
//
// The formats of requests and answers, retries, rates and budgets.
package endpoint
