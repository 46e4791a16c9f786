package tool

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// Params reads the parameters of a call. Text grammars give every value as
// text, so text that is a number or a boolean is taken for one where one is
// wanted. Everything wrong is reported at once by Err.
type Params struct {
	m      map[string]any
	read   []string
	faults []string
}

// Read begins to read parameters.
func Read(given map[string]any) *Params { return &Params{m: given} }

// Reset begins with the next call's.
func (p *Params) Reset(given map[string]any) { *p = Params{m: given, read: p.read[:0]} }

// Get gives a parameter as it came, and whether it is there.
func (p *Params) Get(name string) (any, bool) {
	p.read = append(p.read, name)
	v, ok := p.m[name]
	return v, ok && v != nil
}

// Fault notes what is wrong with one.
func (p *Params) Fault(name, want string, got any) {
	p.faults = append(p.faults, fmt.Sprintf("%s: got %s, want %s", name, Cut(fmt.Sprint(got)), want))
}

// Cut quotes a text for an error, 80 characters of it.
func Cut(s string) string {
	if r := []rune(s); len(r) > 80 {
		return strconv.Quote(string(r[:80])) + "…"
	}
	return strconv.Quote(s)
}

// Unread reports whether parameters are left that nobody has read.
func (p *Params) Unread() bool {
	found := 0
	for _, name := range p.read {
		if _, ok := p.m[name]; ok {
			found++
		}
	}
	return found < len(p.m)
}

// Any gives a parameter as it came; nil = it is not there.
func (p *Params) Any(name string) any {
	v, _ := p.Get(name)
	return v
}

// Text reads one; "" = it is not there.
func (p *Params) Text(name string) string {
	v, ok := p.Get(name)
	if !ok {
		return ""
	}
	s, isText := v.(string)
	if !isText {
		p.Fault(name, "text", v)
	}
	return s
}

// Required reads a text that must be there.
func (p *Params) Required(name string) string {
	s := p.Text(name)
	if s == "" {
		p.Lacks(name + ": it is required")
	}
	return s
}

// Lacks says that something required is not there. Where something is wrong
// already, that is why.
func (p *Params) Lacks(what string) {
	if len(p.faults) == 0 {
		p.faults = append(p.faults, what)
	}
}

// Texts reads one text or a list of them.
func (p *Params) Texts(name string) []string {
	v, ok := p.Get(name)
	if !ok {
		return nil
	}
	switch x := v.(type) {
	case string:
		return []string{x}
	case []any:
		out := make([]string, 0, len(x))
		for _, e := range x {
			s, isText := e.(string)
			if !isText {
				p.Fault(name, "text or a list of texts", v)
				return nil
			}
			out = append(out, s)
		}
		return out
	}
	p.Fault(name, "text or a list of texts", v)
	return nil
}

// Number reads one.
func (p *Params) Number(name string, otherwise float64) float64 {
	v, ok := p.Get(name)
	if !ok {
		return otherwise
	}
	if f, isNumber := protocol.Number(v); isNumber {
		return f
	}
	if s, isText := v.(string); isText {
		if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
			return f
		}
	}
	p.Fault(name, "a number", v)
	return otherwise
}

// Integer reads a whole number, and whether it is there.
func (p *Params) Integer(name string) (int64, bool) {
	v, ok := p.Get(name)
	if !ok {
		return 0, false
	}
	switch x := v.(type) {
	case int64:
		return x, true
	case string:
		if i, err := strconv.ParseInt(strings.TrimSpace(x), 10, 64); err == nil {
			return i, true
		}
	}
	p.Fault(name, "a whole number", v)
	return 0, false
}

// Flag reads a boolean; false = it is not there.
func (p *Params) Flag(name string) bool {
	v, ok := p.Get(name)
	if !ok {
		return false
	}
	switch x := v.(type) {
	case bool:
		return x
	case string:
		if b, err := strconv.ParseBool(strings.TrimSpace(x)); err == nil {
			return b
		}
	}
	p.Fault(name, "true or false", v)
	return false
}

// Object reads an object that must be there.
func (p *Params) Object(name string) map[string]any {
	v, ok := p.Get(name)
	m, isObject := v.(map[string]any)
	if !ok || !isObject {
		p.Fault(name, "an object", v)
	}
	return m
}

// Rest gives every parameter but the named ones to somebody who checks them.
func (p *Params) Rest(but ...string) map[string]any {
	m := maps.Clone(p.m)
	for _, n := range but {
		delete(m, n)
	}
	p.read = append(p.read, slices.Collect(maps.Keys(p.m))...)
	return m
}

// Err reports wrong and unknown parameters.
func (p *Params) Err(tool string) error {
	var unknown []string
	for name := range p.m {
		if !slices.Contains(p.read, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		p.faults = append(p.faults, fmt.Sprintf("%s: unknown parameter; known are %s", name, strings.Join(p.read, ", ")))
	}
	if len(p.faults) == 0 {
		return nil
	}
	return protocol.Errorf(protocol.KindInvalid, "parameters of %s: %s", tool, strings.Join(p.faults, "; "))
}
