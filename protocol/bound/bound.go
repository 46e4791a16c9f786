// Package bound computes upper bounds of tokens: of a prompt, and of an answer. Budgets reserve these
// before a model is asked, so that the count afterwards never exceeds the reservation.
package bound

import (
	"unicode/utf8"

	"tavernsim/protocol"
)

// Prompt is more than the tokens that an endpoint counts for the prompt: one for
// each byte of text, because a token has at least one byte, 16 for each message, for
// its role and marks, 64 for each tool, [Image] for each picture, and [Extra]. The answer is not in it. What an endpoint
// puts into the prompt by itself (instructions for tools) fits into the slack: text has
// three to four bytes a token.
func Prompt(q *protocol.ModelRequest) int64 {
	n := 0
	for i := range q.Messages {
		m := &q.Messages[i]
		n += ofMessage + len(m.Text) + len(m.CallID) + Image*len(m.Images)
		for k := range m.Calls {
			c := &m.Calls[k]
			n += ofMessage + len(c.ID) + len(c.Tool) + len(c.Broken) + jsonBound(c.Params)
		}
	}
	for i := range q.Tools {
		n += ofTool + len(q.Tools[i].Name) + len(q.Tools[i].Description) + jsonBound(q.Tools[i].Parameters)
	}
	if q.Options != nil && q.Options.Schema != nil {
		n += ofTool + jsonBound(q.Options.Schema)
	}
	return int64(n + Extra(q.Options))
}

// Extra is more than the tokens of the fields of the endpoint's own, any of which the model may read.
func Extra(o *protocol.ModelOptions) int {
	if o == nil || len(o.Extra) == 0 {
		return 0
	}
	return jsonBound(o.Extra)
}

// Image is the most tokens of a picture, unless the file of the model says more
// (image_tokens).
const Image = 5000

const (
	ofMessage = 16
	ofTool    = 64
)

// Answer is the most tokens that an answer may have of what is left behind its prompt, 0
// if that is nothing useful. An answer without a limit of its own may have one of so many
// equal shares, so that requests that are made at once all have one, and never less than
// providers usually allow.
func Answer(left int64, limit int, shares int64) int64 {
	switch {
	case limit > 0 && left >= min(leastAnswer, int64(limit)):
		return min(left, int64(limit))
	case limit > 0 || left < leastAnswer:
		return 0
	}
	return min(left, max(left/max(shares, 1), usualAnswer))
}

const (
	leastAnswer = 16   // what is shorter is not worth its prompt
	usualAnswer = 1024 // unless somebody says otherwise
)

// jsonBound is at least the length of a value written as JSON, with a line and its
// indentation, a token at most, for each element.
func jsonBound(v any) int {
	const element = 4 // comma, line break, indentation, colon
	switch x := v.(type) {
	case nil, bool:
		return len("false")
	case string:
		return textBound(x)
	case []any:
		n := element
		for _, e := range x {
			n += element + jsonBound(e)
		}
		return n
	case map[string]any:
		n := element
		for k, e := range x {
			n += element + textBound(k) + jsonBound(e)
		}
		return n
	case int64, float64:
		return len("-1.7976931348623157e+308")
	}
	n, err := protocol.Normalize(v)
	if err != nil {
		return 0 // nothing can write it
	}
	return jsonBound(n)
}

// textBound is at least the length of a text as a JSON string; some writers spell
// every character beyond ASCII \u1234.
func textBound(s string) int {
	n := 2
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < ' ', c >= utf8.RuneSelf, c == 0x7f:
			n += 6
		case c == '"', c == '\\':
			n += 2
		default:
			n++
		}
	}
	return n
}
