// Package rpc carries out tools of services: programs that stay and speak JSON-RPC 2.0 on their
// standard input and output, a message a line (docs/formats/service.md).
//
// A service starts with the first call, is shared by the scene, and is gone when
// [Executor.Close] returns.
//
// # Promises
//
//  1. A service runs in the sandbox, else not at all. Nothing of it is left after Close.
//  2. What a service sends that is wrong fails the call that it was for, or the calls that were
//     out: an answer with a wrong id, a second or a late one, half a message, an endless one,
//     what is no message. After what is no message it is ended and starts again.
//  3. A service that ends, breaks the protocol, or neither answers a call in time nor the ping
//     after it, starts again after a pause; after five times in a row it is off.
//  4. A call that was sent and has no answer is lost. Every attempt has its key in the field key.
//  5. A service is told of each call that nobody waits for any more: $/cancel names it.
//  6. A service works on as many requests at once as [Service.Concurrency] says. Others wait, in
//     the order in which they came; one whose time is over while it waits was not sent. The
//     place of a request that nobody waits for any more is taken until its answer comes late,
//     or the answer to a ping.
//  7. The caller of a tool hears, in order, what the service says about how far the call is.
//
// # Limits
//
// A service calls others as [Options.Resolve] allows: 16 calls at once, 30 s each. They end with
// the service that calls.
//
// # Not here
//
// Definitions (tools/manifest, tools/plugin); repetitions and bounds of outputs (tools); the
// process and its pauses (tools/child).
package rpc
