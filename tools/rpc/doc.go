// Package rpc carries out tools of services: programs that stay and speak JSON-RPC 2.0 on their
// standard input and output, a message a line (docs/formats/service.md).
//
// A service starts with the first call, is shared by the scene, and is gone when
// [Executor.Close] returns.
//
// # Promises
//
//  1. A service runs in the sandbox, or not at all. Nothing of it is left after Close.
//  2. Wrong output of a service fails the call that it belongs to, or the calls in
//     flight: an answer with a wrong id, a second or a late one, half a message, an endless one,
//     no message at all. Output that is no message ends the service, which starts again.
//  3. A service that ends, breaks the protocol, or answers neither a call nor the ping
//     after it in time, starts again after a pause; after five times in a row it is off.
//  4. A call that was sent and has no answer is lost. Every attempt has its key in the field key.
//  5. The service is told of each abandoned call: $/cancel names it.
//  6. A service works on at most [Service.Concurrency] requests at once. Others wait, in
//     the order of arrival; a request whose time ends while it waits was not sent. An
//     abandoned request keeps its place until its answer comes late,
//     or the answer to a ping.
//  7. The caller of a tool gets the service's progress reports of its call, in order.
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
