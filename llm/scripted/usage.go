package scripted

import (
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Overheads of the estimate, in tokens.
const (
	tokensPerMessage = 4
	tokensPerTool    = 32 // its schema
	tokensPerCall    = 8
)

// EstimateTokens is the token count of a text: a quarter of its ASCII
// characters, rounded up, and one per character beyond ASCII, where characters
// of two bytes count half.
func EstimateTokens(s string) int64 {
	runes := utf8.RuneCountInString(s)
	other := (len(s) - runes + 1) / 2
	return int64((max(runes-other, 0)+3)/4 + other)
}

// usage estimates the tokens of a request and its answer, whose calls are counted.
func usage(e *env, out *protocol.ModelAnswer) protocol.Usage {
	var u protocol.Usage
	req := e.req
	for i := range req.Messages {
		m := &req.Messages[i]
		u.Input += tokensPerMessage + EstimateTokens(m.Text) + int64(len(m.Calls))*tokensPerCall
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		u.Input += tokensPerTool + EstimateTokens(t.Name) + EstimateTokens(t.Description)
	}
	u.Reasoning = EstimateTokens(out.Reasoning)
	u.Output = EstimateTokens(out.Text) + u.Reasoning
	if len(out.Calls) > 0 { // else they were cut off
		u.Output += e.tokens
	}
	return u
}

// OutputTokens counts the tokens of an answer, as [Model] counts those of its own.
func OutputTokens(a *protocol.ModelAnswer) int64 {
	n := EstimateTokens(a.Text) + EstimateTokens(a.Reasoning)
	for i := range a.Calls {
		c := &a.Calls[i]
		n += tokensPerCall + EstimateTokens(c.Tool) + valueTokens(c.Params)
	}
	return n
}

// valueTokens counts a parameter: its text, or 1.
func valueTokens(v any) int64 {
	switch x := v.(type) {
	case string:
		return EstimateTokens(x)
	case []any:
		n := int64(1)
		for _, e := range x {
			n += valueTokens(e)
		}
		return n
	case map[string]any:
		n := int64(1)
		for k, e := range x { // a sum: the order cannot be seen
			n += EstimateTokens(k) + valueTokens(e)
		}
		return n
	}
	return 1
}

// cut ends the text at the stop text that is complete first, and at the token limit. A text that was cut has no calls
// after it.
func cut(out *protocol.ModelAnswer, req *protocol.ModelRequest) {
	text, first := out.Text, len(out.Text)+1
	for _, stop := range req.Stop {
		if i := strings.Index(text, stop); i >= 0 && stop != "" && i+len(stop) < first {
			out.Text, out.Stopped, first = text[:i], stop, i+len(stop)
		}
	}
	if out.Stopped != "" && out.Calls != nil {
		out.Finish, out.Calls = protocol.FinishStop, nil
	}
	limit := int64(req.MaxTokens)
	if req.Cap > 0 && (limit <= 0 || limit > int64(req.Cap)) {
		limit = int64(req.Cap)
	}
	if limit <= 0 || int64(len(out.Text)) <= limit || EstimateTokens(out.Text) <= limit { // a token has a byte at least
		return
	}
	out.Finish, out.Stopped, out.Calls = protocol.FinishLength, "", nil
	low, high := 0, len(out.Text) // the longest prefix within the limit
	for low < high {
		mid := (low + high + 1) / 2
		if EstimateTokens(out.Text[:mid]) <= limit {
			low = mid
		} else {
			high = mid - 1
		}
	}
	for low > 0 && !utf8.RuneStart(out.Text[low]) {
		low--
	}
	out.Text = out.Text[:low]
}
