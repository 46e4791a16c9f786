package tool

import (
	"fmt"
	"maps"
	"strconv"

	"tavernsim/protocol"
)

// Params are the parameters of a call that was bound to its tool: each has its
// declared type or is null. A null parameter counts as missing.
type Params map[string]any

// Text reads a text; "" = missing.
func (p Params) Text(name string) string {
	s, _ := p[name].(string)
	return s
}

// Number reads a number; otherwise if it is missing.
func (p Params) Number(name string, otherwise float64) float64 {
	if f, ok := protocol.Number(p[name]); ok {
		return f
	}
	return otherwise
}

// Integer reads a whole number, and reports whether it is there.
func (p Params) Integer(name string) (int64, bool) {
	i, ok := p[name].(int64)
	return i, ok
}

// Flag reads a boolean; false if it is missing.
func (p Params) Flag(name string) bool {
	b, _ := p[name].(bool)
	return b
}

// Object reads an object; nil = missing.
func (p Params) Object(name string) Params {
	m, _ := p[name].(map[string]any)
	return m
}

// Texts reads one text or a list of texts.
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

// Receivers reads whom an event or a change names: one or a list; nil = missing. An empty list would name nobody, and be
// taken for everybody.
func (p Params) Receivers(name string) ([]string, error) {
	list, err := p.Texts(name)
	if err == nil && list != nil && len(list) == 0 {
		err = protocol.Errorf(protocol.KindInvalid, "%s: the list is empty, and names nobody; want the instance id of at least one agent, or leave %s out", name, name)
	}
	return list, err
}

func wantsTexts(name string, got any) error {
	return protocol.Errorf(protocol.KindInvalid, "%s: got %s, want text or a list of texts", name, Cut(fmt.Sprint(got)))
}

// Without copies the parameters without those of these names.
func (p Params) Without(names ...string) map[string]any {
	m := maps.Clone(p)
	for _, n := range names {
		delete(m, n)
	}
	return m
}

// Cut quotes the first 80 characters of a text, for an error.
func Cut(s string) string {
	if r := []rune(s); len(r) > 80 {
		return strconv.Quote(string(r[:80])) + "…"
	}
	return strconv.Quote(s)
}
