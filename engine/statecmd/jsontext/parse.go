package jsontext

import (
	"strings"

	"tavernsim/protocol"
)

// Parse reads one value. wanted tells a value that the caller can use from one
// that merely is JSON; among several in a text the first wanted is taken.
func Parse(text string, wanted func(any) bool) (Text, error) {
	if len(text) > MaxBytes {
		return Text{}, protocol.Errorf(protocol.KindLimit, "json: %d bytes; the limit is %d", len(text), MaxBytes)
	}
	body := strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	v, rest, firstErr := read(body)
	if firstErr == nil && rest == "" {
		return Text{Value: v}, nil
	}
	if t, ok := embedded(body, wanted); ok {
		return t, nil
	}
	for _, part := range candidates(withoutReasoning(body)) {
		p := parser{s: part, lenient: true}
		v, err := p.document()
		if err == nil && wanted(v) {
			return Text{Value: v, Repairs: p.notes, Embedded: part != body}, nil
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	if firstErr == nil {
		firstErr = protocol.Errorf(protocol.KindInvalid, "text follows the value: %.40q", rest)
	}
	return Text{}, protocol.Errorf(protocol.KindInvalid, "json: %w", firstErr)
}

// read takes one strict value from the front.
func read(s string) (v any, rest string, err error) {
	p := parser{s: s}
	v, err = p.value(0)
	if err != nil {
		return nil, s, err
	}
	p.space()
	return v, s[p.i:], nil
}

// embedded looks for strict JSON inside text: each fenced block, then each place
// where an object or array begins.
func embedded(body string, wanted func(any) bool) (Text, bool) {
	body = withoutReasoning(body)
	for _, block := range fences(body) {
		if v, rest, err := read(block); err == nil && rest == "" && wanted(v) {
			return Text{Value: v, Embedded: true}, true
		}
	}
	for i := nextStart(body, 0); i < len(body); i = nextStart(body, i) {
		v, rest, err := read(body[i:])
		if err != nil {
			return Text{}, false // what is inside a broken value must not pass for the whole
		}
		if wanted(v) {
			return Text{Value: v, Embedded: true}, true
		}
		i = len(body) - len(rest)
	}
	return Text{}, false
}

// nextStart finds where an object or array seems to begin: a bracket with
// something behind it that can stand in one. It returns the length of body when
// there is none.
func nextStart(body string, from int) int {
	for i := from; i < len(body); i++ {
		if c := body[i]; c != '{' && c != '[' {
			continue
		}
		next := strings.TrimLeft(body[i+1:], " \t\r\n")
		if next != "" && strings.IndexByte("\"'{[}]", next[0]) >= 0 {
			return i
		}
	}
	return len(body)
}

// candidates lists what is worth repairing, best first.
func candidates(body string) []string {
	out := fences(body)
	if i := nextStart(body, 0); i < len(body) {
		out = append(out, body[i:])
	} else if i := strings.IndexAny(body, "{["); i >= 0 {
		out = append(out, body[i:])
	}
	return out
}

// fences lists the contents of ``` blocks; the last may lack its end.
func fences(body string) []string {
	var out []string
	for len(out) < 16 {
		_, after, ok := strings.Cut(body, "```")
		if !ok {
			return out
		}
		if line, rest, ok := strings.Cut(after, "\n"); ok && !strings.ContainsAny(line, "{[") {
			after = rest
		}
		inner, rest, closed := strings.Cut(after, "```")
		out = append(out, strings.TrimSpace(inner))
		if !closed {
			return out
		}
		body = rest
	}
	return out
}

// withoutReasoning drops <think> and <thinking> blocks that stand before any
// JSON; an unclosed one drops the rest. Further in they may be part of a value.
func withoutReasoning(s string) string {
	for _, tag := range []string{"thinking", "think"} {
		for {
			start := strings.Index(s, "<"+tag+">")
			if start < 0 || start > nextStart(s, 0) {
				break
			}
			end := strings.Index(s[start:], "</"+tag+">")
			if end < 0 {
				s = s[:start]
				break
			}
			s = s[:start] + s[start+end+len(tag)+3:]
		}
	}
	return s
}

// Plain turns what Parse returned into a protocol value; of a key that comes
// twice the last stays.
func Plain(v any) (any, error) {
	switch x := v.(type) {
	case *Array:
		out := make([]any, len(x.Items))
		for i, e := range x.Items {
			p, err := Plain(e)
			if err != nil {
				return nil, err
			}
			out[i] = p
		}
		return out, nil
	case *Object:
		out := make(map[string]any, len(x.Members))
		for i := range x.Members {
			p, err := Plain(x.Members[i].Value)
			if err != nil {
				return nil, err
			}
			out[x.Members[i].Key] = p
		}
		return out, nil
	case Number:
		return nil, protocol.Errorf(protocol.KindInvalid, "the number %.40s fits neither 64 bits nor a float; write it as text", string(x))
	}
	return v, nil
}

// Ordered turns a protocol value into what Parse returns, keys in byte order.
func Ordered(v any) any {
	switch x := v.(type) {
	case []any:
		out := &Array{Items: make([]any, len(x))}
		for i, e := range x {
			out.Items[i] = Ordered(e)
		}
		return out
	case map[string]any:
		out := &Object{Members: make([]Member, 0, len(x))}
		for _, k := range protocol.SortedKeys(x) {
			out.Members = append(out.Members, Member{k, Ordered(x[k])})
		}
		return out
	}
	return v
}

// Cut reports whether the end of the text closed a container of the value.
func Cut(v any) bool {
	switch x := v.(type) {
	case *Array:
		return x.Cut || len(x.Items) > 0 && Cut(x.Items[len(x.Items)-1])
	case *Object:
		return x.Cut || len(x.Members) > 0 && Cut(x.Members[len(x.Members)-1].Value)
	}
	return false
}
