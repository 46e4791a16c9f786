// Package wire has the wire forms of models' servers: it reads the body of a request
// into the words of the engine, and writes an answer as a chat completion, as a
// message or as vectors, whole or as the events of a stream.
//
// It is pure: equal inputs give equal bytes. Members that it does not know are read
// over. A fault says where it is; no body makes it panic or keep more
// than a few times its length.
package wire
