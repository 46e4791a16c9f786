// Package jsontext reads JSON as language models write it.
//
// [Parse] keeps what a map would lose: the order of members and members that
// come twice. It tries the text as strict JSON, then JSON inside other text (a
// fenced block, an answer around it), and only then repairs: comments, trailing
// and missing commas, single or typographic quotes, bare keys, Python's words,
// raw line breaks in text, an end that was cut off. Every repair is named.
//
// # Promises
//
//  1. Strict JSON is read without any note.
//  2. Integers of 64 bits and floats stay apart and exact; a number that fits
//     neither is a [Number], for the reader of the value to refuse.
//  3. A container that the end of the text closed is marked Cut.
//  4. Text, nesting and repairs are bounded; bad input is an error, never a panic.
package jsontext

// Bounds.
const (
	MaxBytes = 16 << 20
	MaxDepth = 60
	MaxNotes = 50 // repairs that are named; more are counted
)

// Object is a JSON object as written.
type Object struct {
	Members []Member
	Cut     bool // the text ended before the object did
}

// Member is one key and its value.
type Member struct {
	Key   string
	Value any
}

// Array is a JSON array as written.
type Array struct {
	Items []any
	Cut   bool // the text ended before the array did
}

// Number is a number that neither int64 nor float64 can hold.
type Number string

// Get returns the last member of that key.
func (o *Object) Get(key string) (any, bool) {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if o.Members[i].Key == key {
			return o.Members[i].Value, true
		}
	}
	return nil, false
}

// Text is what Parse read: nil, bool, int64, float64, Number, string, *Array or
// *Object.
type Text struct {
	Value any
	// Embedded: other text stood around the JSON.
	Embedded bool
	// Repairs says what was not JSON, each with its byte offset.
	Repairs []string
}
