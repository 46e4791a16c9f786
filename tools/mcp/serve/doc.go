// Package serve offers tools and documents to clients of the Model Context Protocol, over
// stdio or HTTP.
//
// # Promises
//
//  1. A call has an answer: the output of the tool, or an error with its kind. A panic of a tool
//     is an error of that call.
//  2. Requests are bounded: 4 MiB each, [MaxDepth] levels of parameters, [AtOnce] calls at a
//     time. Over HTTP there are at most [MaxClients] sessions: a further session ends the longest-idle session
//     of the host that has the most. At most as many requests without a session, which end none, are in flight, and
//     the messages of all requests take at most 256 MiB; further requests are refused (503). A request that the header
//     disqualifies is refused before its body is read, except that up to 16 MiB of a too large body are read. A client that cancels a call ends it.
//  3. Over HTTP, an Origin of another site is refused (403), and so is, on loopback, another
//     Host; pages of this machine are accepted. If there is a token, a request without it is refused (401); without a token the
//     server listens only on loopback. A body that is too large is refused (413) after up to 16 MiB of it are read and
//     dropped, for clients that send all before they read. A body that does not arrive within 30 s is refused, too.
//  4. A client with a progress token gets the progress reports of its call.
//  5. Input that is no message is refused, and so is a message with a duplicate name in an object, or with an id that no
//     answer could have: over HTTP by 400, over stdio by an error of JSON-RPC (-32700 or -32600). The server continues.
//  6. A client can do what the server declares: subscribe to documents if the offer has their
//     state, at most [MaxWatched] at a time; and complete variables of templates.
//     A change is reported within a second.
//  7. A tool with an output schema returns a matching object as structured content, or an error.
//  8. Over stdio and over HTTP the server speaks both forms of the protocol: with sessions (up to 2025-11-25), and
//     stateless (from 2026-07-28 on), where a client that abandons a request ends it. Only initialize begins a session.
//  9. A call ends with its session: when its client ends it, when it had no request for ten minutes, when another one
//     takes its place, and with the server. Who ends it waits at most 5 s for a tool that does not heed
//     this; the call keeps its place until the tool has ended.
//
// # Not here
//
// The offered tools and documents (scenes/run/served), and servers of others (tools/mcp).
package serve
