// Package lenient reads JSON as language models write it.
//
// [Read] takes the raw text: with reasoning blocks, code fences, prose
// around the value, comments, other quotes, full-width punctuation, Python
// literals, bare keys, missing or extra commas, or cut off. It tries the text as
// JSON, then JSON inside the text, and only then repairs, and it says what it
// repaired and where. [Options] narrow what it accepts.
//
// # Promises
//
//  1. JSON is read exactly and without a repair. Only a number that no float can
//     hold becomes a text of a plain value, with a repair that says so.
//  2. Nothing is invented: the keys and texts of the value are in the text. An
//     incomplete part is left out, except that an open text keeps its beginning.
//  3. Members keep their order and their places, also those that come twice. An
//     object that the end of the text closed is marked Cut.
//  4. Text, nesting and the list of repairs are bounded, and time is linear in the
//     text. Bad input is an error, never a panic.
//
// # What is not here
//
// Schemas, calls (package tam reads those) and definition files (internal/source).
package lenient

import (
	"fmt"

	"tavernsim/protocol"
)

// Bounds.
const (
	MaxBytes   = 16 << 20
	MaxDepth   = protocol.MaxNested
	MaxRepairs = 50 // of these and the first of each kind are listed
	MaxFences  = 16 // code fences that are looked into
	MaxPasses  = 16 // how often a text is read over to find the value in it
)

// Options say what a caller accepts. The zero value accepts most, and gives the
// value with order and places.
type Options struct {
	Plain  bool // the value is one of package protocol, without order and places
	Exact  bool // refuse to guess values: bare texts, missing values, odd numbers, rare words, the inside of what cannot be read
	Whole  bool // refuse text around the value; a fence, reasoning and comments may stand there
	Strict bool // refuse all that is not JSON
	Kept   bool // refuse to leave out a key that the end of the text cut off from its value
	Bytes  int  // of text at most; 0 is MaxBytes

	// Wanted tells a value inside a text that the caller can use from one that
	// merely is JSON; nil wants every list and object.
	Wanted func(any) bool
}

// Text is what Read found in a text.
type Text struct {
	// Value is nil, a bool, int64, float64, string, Number, []any or *Object. A
	// plain value has map[string]any for *Object and no Number.
	Value   any
	Around  []string // what stood around the value and was left out
	Repairs []Repair // in the order in which the text was read
}

// Repair names one thing that was not JSON, and its byte in the text.
type Repair struct {
	What string
	At   int
}

func (r Repair) String() string { return fmt.Sprintf("%s at byte %d", r.What, r.At) }

// Warnings lists what was left out and each kind of repair once.
func (t *Text) Warnings() []string {
	list := t.Around
	seen := map[string]bool{}
	for _, r := range t.Repairs {
		if !seen[r.What] {
			list = append(list, r.What)
		}
		seen[r.What] = true
	}
	return list
}

// Object is a JSON object as written.
type Object struct {
	Members []Member
	Cut     bool // the text ended before the object did
}

// Member is one key, its value and the byte where the key begins.
type Member struct {
	Key   string
	Value any
	At    int
}

// Number is a number that neither int64 nor float64 can hold.
type Number string
