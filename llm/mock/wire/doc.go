// Package wire has the wire forms of model servers: it reads the body of a request
// into types of the engine, and writes an answer as a chat completion, as a
// message or as vectors, whole or as the events of a stream.
//
// It is pure: equal inputs give equal bytes. It ignores unknown
// members, but for those of the messages protocol, which refuses them. A fault names its place; no body makes it panic or keep more
// than a few times its length.
package wire
