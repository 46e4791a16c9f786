// Package answer reads the answer of a model: the prose, and the calls of both text
// grammars in it.
//
// # Promises
//
//  1. The result depends on the arguments alone. Any text gives one.
//  2. The text contains neither calls nor failed attempts at calls. Each failed
//     attempt is a problem in words that the model can act on.
//  3. A call that the provider cut, or that stands in a block or root which it
//     cut, is never among the calls.
//  4. A call that is quoted inside a call of the other grammar is text of that call, however many calls stand around.
//  5. After [Neutralise] no part of a text is read as a call. It changes only text that
//     looks like the beginning of a call. [Clean] also removes terminal control sequences.
package answer

import (
	"strings"

	"tavernsim/protocol"
	"tavernsim/tam"
)

// Answer is a text with calls, taken apart.
type Answer struct {
	Text     string          // without calls and reasoning
	Calls    []protocol.Call // TAM, then ToolsXML, each in the order of the text; the other way round when ToolsXML comes first
	Problems []string        // what was repaired, does not run or could not be read
}

// Read takes an answer apart; finish is why the model stopped, "" when nobody
// knows.
func Read(text string, finish protocol.FinishReason) Answer {
	var a Answer
	if text == "" { // beside native calls, mostly
		return a
	}
	if mentions(text, "<tools") || mentions(text, "<get_value") || strings.Contains(text, "</") || mentions(text, `\u003c`) { // the end of a tool without a root, and what many write in JSON
		a.both(text, finish)
		return a
	}
	r := tam.Options{Finish: finish}.Parse(text)
	a.takeManifest(&r)
	a.Text = r.Text
	return a
}

// add appends the calls of a grammar, whose blocks are numbered behind those before.
func (a *Answer) add(calls []protocol.Call) {
	last := 0
	for i := range a.Calls {
		last = max(last, a.Calls[i].Block)
	}
	for i := range calls {
		calls[i].Block += last
	}
	a.Calls = append(a.Calls, calls...)
}

// mentions reports whether a text holds a word of lower case in any case.
func mentions(text, word string) bool {
	for {
		i := strings.IndexByte(text, word[0])
		if i < 0 || len(text)-i < len(word) {
			return false
		}
		if strings.EqualFold(text[i:i+len(word)], word) {
			return true
		}
		text = text[i+1:]
	}
}
