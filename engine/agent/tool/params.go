package tool

import (
	"fmt"
	"maps"
	"strconv"

	"tavernsim/protocol"
)

// Params are the parameters of a call that was bound to its tool: each is of its
// declared type, or null, which is like not given.
type Params map[string]any

// Text is a text; "" = it is not there.
func (p Params) Text(name string) string {
	s, _ := p[name].(string)
	return s
}

// Number is a number.
func (p Params) Number(name string, otherwise float64) float64 {
	if f, ok := protocol.Number(p[name]); ok {
		return f
	}
	return otherwise
}

// Integer is a whole number, and whether it is there.
func (p Params) Integer(name string) (int64, bool) {
	i, ok := p[name].(int64)
	return i, ok
}

// Flag is a boolean; false = it is not there.
func (p Params) Flag(name string) bool {
	b, _ := p[name].(bool)
	return b
}

// Object is an object; nil = it is not there.
func (p Params) Object(name string) Params {
	m, _ := p[name].(map[string]any)
	return m
}

// Texts is one text or a list of them.
func (p Params) Texts(name string) ([]string, error) {
	switch x := p[name].(type) {
	case nil:
		return nil, nil
	case string:
		return []string{x}, nil
	case []any:
		out := make([]string, len(x))
		for i, e := range x {
			s, ok := e.(string)
			if !ok {
				return nil, wantsTexts(name, x)
			}
			out[i] = s
		}
		return out, nil
	}
	return nil, wantsTexts(name, p[name])
}

func wantsTexts(name string, got any) error {
	return protocol.Errorf(protocol.KindInvalid, "%s: got %s, want text or a list of texts", name, Cut(fmt.Sprint(got)))
}

// Without is a copy without some of them.
func (p Params) Without(names ...string) map[string]any {
	m := maps.Clone(p)
	for _, n := range names {
		delete(m, n)
	}
	return m
}

// Cut quotes a text for an error, 80 characters of it.
func Cut(s string) string {
	if r := []rune(s); len(r) > 80 {
		return strconv.Quote(string(r[:80])) + "…"
	}
	return strconv.Quote(s)
}
