// Package mcp carries out tools of servers of the Model Context Protocol.
//
// A server is a program in a sandbox, or an address. It starts with the first call, is
// shared by the scene, and is gone when [Executor.Close] returns.
//
// # Promises
//
//  1. A tool is called only if the server describes it as the pin of the project does, and does not offer it as a
//     task only. The refusal says what differs.
//  2. The only client capability of a server is forms, which go to the person or the service of a
//     plugin that [tools.Call.Ask] asks. Its other requests are refused, and its list of
//     roots is empty. A question that could belong to one of several calls is declined.
//  3. A server that breaks the protocol is off for the rest of the scene. A server that ends, or
//     does not answer, starts again after a pause; after five times in a row it is off.
//     Its output is bounded: 8 MiB a message (over stdio a call with a longer answer, up to 64 MiB, fails), and 10,000 unsolicited messages
//     or 64 MiB between two answers (and 100 or 64 KiB more for each second between them), over HTTP on each stream.
//  4. A program runs in the sandbox, or not at all. Nothing of it is left after Close.
//  5. A server over HTTP is reached under the rules of tools/httpcall for addresses; only
//     servers among its needs may be private or local.
//  6. A call that was sent and has no answer is lost; it is not sent twice. Every attempt
//     has its key in _meta, under [KeyField]. A call that a server over HTTP refuses with 429 or 503 and no further
//     message, with a 4xx that is answered before a call is looked at, with 404 in a session that is not the error of the call, or with 400 that speaks of the session, has not begun.
//     With 408 it is lost; with another 4xx it failed, and may have begun. No refused call is a failure of the server.
//  7. The caller gets the server's progress reports of its call.
//  8. Messages that a server over HTTP sends on its own are received as long as the session lasts, even if their
//     stream breaks off; then the tools are looked at again. A stream that ends at once is opened again ever later, at most after a
//     minute. No call needs that stream.
//  9. A server over HTTP is told of cancelled calls before its session ends; the engine
//     waits at most 2 s for it.
//  10. A whole message over HTTP (status 200, no stream) that is not the answer to the request is an error of the call (bad_output), which then
//     counts as answered. A message with a duplicate name in an object breaks the protocol. In a result it is an error of the
//     call (bad_output), as is a result that is no object, or has a field of a wrong type. The output names
//     content of an unknown kind. Integers are kept exactly.
//
// # Not here
//
// Pins and definitions (tools/manifest); repetitions and bounds of outputs (tools).
package mcp

// KeyField is the field of _meta that holds the idempotency key of a call.
const KeyField = "simd/idempotency-key"
