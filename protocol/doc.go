// Package protocol defines the vocabulary of all other packages: ids, time,
// values, events, calls and their results, model messages, facts, the envelope
// between actors, error kinds, and their msgpack codec.
//
// It decides nothing and keeps nothing. It imports no other package of this
// module.
//
// # Values
//
// A value is nil, bool, int64, float64, string, []any or map[string]any, and
// nothing else; [Normalize] converts the result of any decoder into one. Nobody
// writes a value after passing it on; to change it, copy the part that changes.
//
// # Bytes
//
// [AppendValue] writes a value as msgpack with map keys in byte order, so equal
// values have equal bytes; [ReadValue] reads it back under [Limits]. Structs
// are encoded as msgpack arrays in field order ([Marshal], [Unmarshal]).
package protocol
