package scripted

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// rule is a compiled rule. It is immutable.
type rule struct {
	name  string
	index int // place in the script; keys its chance

	agent, profile, scene, model []glob
	purpose                      []glob
	events, allEvents, tools     []glob
	json                         *bool
	round                        *int
	variables                    []variable
	contains                     []string
	matches                      []*regexp.Regexp
	when                         *expr.Program
	chance                       *float64

	answers  []answer
	total    float64 // of the weights
	latency  *Latency
	failures *failures
}

// variable is a wanted value of the prompt's variables.
type variable struct {
	path  []string
	whole string // the path as one name, which wins
	any   []any
}

// holds tests a rule, what is cheap first. The profile was tested before.
func (r *rule) holds(e *env) (bool, error) {
	req := &e.req
	switch {
	case !anyGlob(r.agent, req.Agent), !anyGlob(r.scene, req.Scene), !anyGlob(r.model, req.Model), !anyGlob(r.purpose, string(req.Purpose)):
		return false, nil
	case r.json != nil && *r.json != req.JSON:
		return false, nil
	case r.round != nil && *r.round != e.round():
		return false, nil
	}
	for i := range r.variables {
		if !r.variables[i].holds(req.Variables) {
			return false, nil
		}
	}
	if !r.hears(req.Events) || !r.offered(req.Tools) {
		return false, nil
	}
	return r.holdsDeep(e)
}

// holdsDeep tests what reads the prompt, evaluates or draws.
func (r *rule) holdsDeep(e *env) (bool, error) {
	if len(r.contains) > 0 && !slices.ContainsFunc(r.contains, e.promptContains) {
		return false, nil
	}
	if len(r.matches) > 0 && !slices.ContainsFunc(r.matches, e.promptMatches) {
		return false, nil
	}
	e.at(r.index, useMatch)
	if r.when != nil {
		ok, err := r.when.EvalBool(e)
		if err != nil || !ok {
			return false, err
		}
	}
	if r.chance != nil {
		draw := e.stream(r.index, useChance)
		return draw.Float64() < *r.chance, nil
	}
	return true, nil
}

func (r *rule) hears(events []string) bool {
	if len(r.events) > 0 && !slices.ContainsFunc(events, func(t string) bool { return anyGlob(r.events, t) }) {
		return false
	}
	for i := range r.allEvents {
		if !slices.ContainsFunc(events, r.allEvents[i].matches) {
			return false
		}
	}
	return true
}

func (r *rule) offered(tools []protocol.ToolSpec) bool {
	return len(r.tools) == 0 || slices.ContainsFunc(tools, func(t protocol.ToolSpec) bool { return anyGlob(r.tools, t.Name) })
}

func (v *variable) holds(variables map[string]any) bool {
	have, ok := variables[v.whole]
	if !ok {
		if have, ok = walk(variables, v.path); !ok {
			return false
		}
	}
	for _, want := range v.any {
		if s, isText := want.(string); isText {
			if h, ok := have.(string); ok && h == s {
				return true
			}
			continue
		}
		if protocol.Equal(have, want) {
			return true
		}
	}
	return false
}

func walk(m map[string]any, path []string) (any, bool) {
	var v any = m
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// glob is a pattern with * and ?, made ready.
type glob struct {
	kind globKind
	text string // without the star, of the simple kinds
}

type globKind uint8

const (
	globExact globKind = iota
	globPrefix
	globSuffix
	globAll
	globAny // everything else
)

func globs(patterns []string) []glob {
	out := make([]glob, len(patterns))
	for i, p := range patterns {
		out[i] = newGlob(p)
	}
	return out
}

func newGlob(p string) glob {
	switch stars := strings.Count(p, "*"); {
	case strings.Contains(p, "?") || stars > 1:
		return glob{globAny, p}
	case stars == 0:
		return glob{globExact, p}
	case p == "*":
		return glob{kind: globAll}
	case p[len(p)-1] == '*':
		return glob{globPrefix, p[:len(p)-1]}
	case p[0] == '*':
		return glob{globSuffix, p[1:]}
	}
	return glob{globAny, p}
}

func (g glob) matches(s string) bool {
	switch g.kind {
	case globExact:
		return s == g.text
	case globPrefix:
		return strings.HasPrefix(s, g.text)
	case globSuffix:
		return strings.HasSuffix(s, g.text)
	case globAll:
		return true
	}
	return globMatch(g.text, s)
}

// globMatch goes back to the last star only, so its time is bounded by the
// product of the lengths.
func globMatch(p, s string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && p[i] == '?':
			_, size := utf8.DecodeRuneInString(s[j:])
			i, j = i+1, j+size
		case i < len(p) && p[i] == s[j]:
			i, j = i+1, j+1
		case star >= 0:
			_, size := utf8.DecodeRuneInString(s[mark:])
			mark += size
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(p[i:], "*") == ""
}

// anyGlob holds without patterns.
func anyGlob(list []glob, s string) bool {
	for i := range list {
		if list[i].matches(s) {
			return true
		}
	}
	return len(list) == 0
}
