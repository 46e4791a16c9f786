// Package serve offers tools and documents to clients of the Model Context Protocol, over
// stdio or HTTP.
//
// # Promises
//
//  1. A call has an answer: what the tool says, or an error with its kind. A tool that panics
//     is an error of that call.
//  2. Requests are bounded: 4 MiB each, [MaxDepth] levels of parameters, [AtOnce] calls at a
//     time. Over HTTP there are at most [MaxClients] sessions: for one more, the host with the most of them loses the one
//     that was idle for the longest time. Of requests without a session, which end none, as many are under way at most, and
//     the messages of all requests take at most 256 MiB; beyond that they are refused (503). What the header decides is
//     refused before the body is read, but for a body of up to 16 MiB, which is too large. A client that cancels a call ends it.
//  3. Over HTTP, an Origin of another site is refused (403), and so is, on loopback, another
//     Host; pages of this machine are let through. With a token a request without it is refused (401); without one only loopback
//     may be listened on. A body that is too large is refused (413), and up to 16 MiB of it are read and dropped
//     before, for clients that send all before they read. One that does not come within 30 s is refused, too.
//  4. A client that asks by a token hears how far its call is, if what is called says so.
//  5. What is no message is refused, and so is one in which an object has a name twice, or whose id no answer could
//     have: over HTTP by 400, over stdio by an error of JSON-RPC (-32700 or -32600). The server goes on.
//  6. What a client is told that it can do, it can: subscribe to documents if the offer says how
//     they are, at most [MaxWatched] at a time; and let variables of templates be completed.
//     A change is told within a second.
//  7. A tool that says what its output is gives an object that is so as structured content, or an error.
//  8. Over stdio and over HTTP both forms of the protocol are spoken: with sessions (up to 2025-11-25), and
//     stateless (from 2026-07-28 on), where a client that gives up a request ends it. Only initialize begins a session.
//
// # Not here
//
// What is offered (scenes/run/served), and servers of others (tools/mcp).
package serve
