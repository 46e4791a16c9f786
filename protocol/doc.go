// Package protocol holds the words that every other package uses: ids, time,
// values, events, calls and their results, model messages, facts, the envelope
// that crosses between actors, error kinds, and the msgpack codec of them all.
//
// It decides nothing and keeps nothing. It imports no other package of this
// module.
//
// # Values
//
// A value is nil, bool, int64, float64, string, []any or map[string]any, and
// nothing else; [Normalize] makes one out of whatever a decoder returned. A
// value that has been handed to somebody else is never written again: whoever
// wants to change it copies the part that changes.
//
// # Bytes
//
// [AppendValue] writes a value as msgpack with map keys in byte order, so equal
// values have equal bytes; [ReadValue] reads it back under [Limits]. Structs
// travel as msgpack arrays in field order ([Marshal], [Unmarshal]).
package protocol
