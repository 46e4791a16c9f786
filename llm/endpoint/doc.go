// Package endpoint connects to model servers. It reads the file in which a user
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
//     removes it from answers after they were read, together with the user's values in headers
//     and query (words of 8 characters or more, but for exact names of harmless ones and those in public), also in hex and
//     base64, and as they are sent. What has fewer characters is no secret: [Endpoint.Warnings] says so. Every error
//     of this package, every answer and every chunk for a sink passes through it; a chunk
//     that may end with the beginning of a secret is held back.
//  2. Every request ends: connecting, the first byte, silence between two bytes and
//     the whole request each have a time-out, and the error names the one that passed.
//  3. A failure is an [*llm.Failure] whose outcome follows the status and the error
//     in the body (docs/formats/providers.md, outcomes), with the waiting time that the endpoint names.
//  4. An answer is at most [MaxAnswer] bytes, and a line of a stream [MaxLine].
//  5. When a provider is closed, its requests in flight fail with llm.OutcomeClosed.
//
// # Not here
//
// The formats of requests and answers, retries, rates and budgets.
package endpoint
