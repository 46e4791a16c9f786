package agent

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// params reads the parameters of a call. Text grammars give every value as
// text, so text that is a number or a boolean is taken for one where one is
// wanted. Everything wrong is reported at once by err.
type params struct {
	m      map[string]any
	read   []string
	faults []string
}

func (p *params) get(name string) (any, bool) {
	p.read = append(p.read, name)
	v, ok := p.m[name]
	return v, ok && v != nil
}

func (p *params) fault(name, want string, got any) {
	p.faults = append(p.faults, fmt.Sprintf("%s: got %s, want %s", name, cut(fmt.Sprint(got)), want))
}

func cut(s string) string {
	if r := []rune(s); len(r) > 80 {
		return strconv.Quote(string(r[:80])) + "…"
	}
	return strconv.Quote(s)
}

// unread reports whether parameters are left that nobody has read.
func (p *params) unread() bool {
	found := 0
	for _, name := range p.read {
		if _, ok := p.m[name]; ok {
			found++
		}
	}
	return found < len(p.m)
}

func (p *params) any(name string) any {
	v, _ := p.get(name)
	return v
}

func (p *params) text(name string) string {
	v, ok := p.get(name)
	if !ok {
		return ""
	}
	s, isText := v.(string)
	if !isText {
		p.fault(name, "text", v)
	}
	return s
}

func (p *params) required(name string) string {
	s := p.text(name)
	if s == "" && len(p.faults) == 0 {
		p.faults = append(p.faults, name+": it is required")
	}
	return s
}

// texts reads one text or a list of them.
func (p *params) texts(name string) []string {
	v, ok := p.get(name)
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
				p.fault(name, "text or a list of texts", v)
				return nil
			}
			out = append(out, s)
		}
		return out
	}
	p.fault(name, "text or a list of texts", v)
	return nil
}

func (p *params) number(name string, otherwise float64) float64 {
	v, ok := p.get(name)
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
	p.fault(name, "a number", v)
	return otherwise
}

func (p *params) integer(name string) (int64, bool) {
	v, ok := p.get(name)
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
	p.fault(name, "a whole number", v)
	return 0, false
}

func (p *params) flag(name string) bool {
	v, ok := p.get(name)
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
	p.fault(name, "true or false", v)
	return false
}

func (p *params) object(name string) map[string]any {
	v, ok := p.get(name)
	m, isObject := v.(map[string]any)
	if !ok || !isObject {
		p.fault(name, "an object", v)
	}
	return m
}

// rest gives every parameter but the named ones to somebody who checks them.
func (p *params) rest(but ...string) map[string]any {
	m := maps.Clone(p.m)
	for _, n := range but {
		delete(m, n)
	}
	p.read = append(p.read, slices.Collect(maps.Keys(p.m))...)
	return m
}

// err reports wrong and unknown parameters.
func (p *params) err(tool string) error {
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

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
