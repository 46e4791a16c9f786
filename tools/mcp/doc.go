// Package mcp carries out tools of servers of the Model Context Protocol.
//
// A server is a program in a sandbox, or an address. It starts with the first call, is
// shared by the scene, and is gone when [Executor.Close] returns.
//
// # Promises
//
//  1. A tool is called only if the server describes it as the pin of the project does, and does not offer it as a
//     task only. The refusal says what differs.
//  2. A server gets no capability of a client but forms, which reach whoever [tools.Call.Ask]
//     asks, a person or a service of a plugin: everything else that it asks for is refused, and its list of
//     roots is empty. A question that could be for one of several calls is declined.
//  3. A server that breaks the protocol is off for the rest of the scene. One that ends, or
//     does not answer, starts again after a pause; after five times in a row it is off.
//     What it sends is bounded: 8 MiB a message (the call fails whose answer is longer, up to 64 MiB, over stdio), and 10,000 messages or 64 MiB that nobody
//     asked for between two answers (and 100 or 64 KiB more for each second between them), over HTTP on each stream.
//  4. A program runs in the sandbox, else not at all. Nothing of it is left after Close.
//  5. A server over HTTP is reached under the rules of tools/httpcall for addresses; only
//     what the server names among its needs may be private or local.
//  6. A call that was sent and has no answer is lost; it is not sent twice. Every attempt
//     has its key in _meta, under [KeyField]. One that a server over HTTP refuses with 429 or 503 and says
//     no more, or with another 4xx but 408 and no error of the protocol, has not begun. No refused call is a failure of the server.
//  7. The caller hears what the server says about how far a call is.
//  8. What a server over HTTP says by itself is heard as long as the session lasts, also if its
//     stream breaks off; then its tools are looked at again. No call needs that stream.
//  9. A server over HTTP is told of the calls that were cancelled before its session ends; it is
//     not waited for longer than 2 s.
//  10. A message in which an object has a name twice breaks the protocol, and in a result it is an error of the
//     call (bad_output), as a result is that is no object, or has a field that is not what the protocol wants. Content of
//     a kind that is not known is said to be there. Integers of a value stay what they are.
//
// # Not here
//
// Pins and definitions (tools/manifest); repetitions and bounds of outputs (tools).
package mcp

// KeyField is the field of _meta that holds the idempotency key of a call.
const KeyField = "simd/idempotency-key"
