package block

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tavernsim/engine/template"
	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// MaxBytes bounds what the references of one call put into its parameters.
const MaxBytes = 256 << 10

// maxName bounds a reference: what is longer is text.
const maxName = 256

// Values gives the value that a reference names; false = it is unknown.
type Values func(name string) (v any, known bool)

// Refers reports whether some text of a value may have a reference.
func Refers(v any) (found bool) {
	switch x := v.(type) {
	case string:
		return strings.Contains(x, "@{")
	case []any:
		return slices.ContainsFunc(x, Refers)
	case map[string]any:
		for _, e := range x {
			found = found || Refers(e)
		}
	}
	return found
}

// Steps lists the steps that references in a call name, in its parameters and its URIs.
func Steps(c *protocol.Call) (steps []int) {
	s := substitution{of: func(name string) (any, bool) {
		if n, _, ok := StepName(name); ok && !slices.Contains(steps, n) {
			steps = append(steps, n)
		}
		return nil, false
	}}
	s.value(c.Params)
	for _, uri := range c.URIs {
		s.text(uri)
	}
	slices.Sort(steps)
	return steps
}

// StepName reads a reference to a step: step_2.output.path.
func StepName(name string) (n int, rest string, ok bool) {
	name, ok = strings.CutPrefix(name, "step_")
	if !ok {
		return 0, "", false
	}
	digits, rest, _ := strings.Cut(name, ".")
	n, err := strconv.Atoi(digits)
	return n, rest, err == nil && n >= 0
}

// Substitute replaces the references in the texts of parameters. embedded are parameters
// whose texts are read as JSON later. unknown are the references that stay.
func Substitute(params map[string]any, of Values, embedded ...string) (out map[string]any, unknown []string, err error) {
	return (&substitution{of: of}).params(params, embedded)
}

func (s *substitution) params(params map[string]any, embedded []string) (out map[string]any, unknown []string, err error) {
	out = make(map[string]any, len(params))
	for _, name := range protocol.SortedKeys(params) {
		s.embedded = slices.Contains(embedded, name)
		out[name] = s.value(params[name])
	}
	if s.bytes > MaxBytes {
		return nil, nil, protocol.Errorf(protocol.KindLimit, "the references put %d bytes into the parameters; at most %d", s.bytes, MaxBytes)
	}
	return out, s.unknown, nil
}

type substitution struct {
	of       Values
	embedded bool
	secrets  bool // the texts may name secrets, and what is put in never does
	bytes    int
	unknown  []string
}

func (s *substitution) value(v any) any {
	switch x := v.(type) {
	case string:
		return s.text(x)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = s.value(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for _, name := range protocol.SortedKeys(x) {
			out[name] = s.value(x[name])
		}
		return out
	}
	return v
}

// text replaces the references of a text.
func (s *substitution) text(text string) any {
	var b strings.Builder
	var put []span
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "@{")
		name, _, ends := strings.Cut(after[:min(len(after), maxName+1)], "}")
		switch {
		case !found:
			if b.Len() == 0 {
				return rest
			}
			b.WriteString(rest)
			if s.secrets {
				return literal(b.String(), put)
			}
			return b.String()
		case !ends || !isName(name):
			b.WriteString(before + "@{")
			rest = after
			continue
		}
		v, known := s.of(name)
		quoted := strings.HasSuffix(before, "@")
		switch {
		case known && quoted: // @@{x} is the text @{x}
			b.WriteString(before + "{" + name + "}")
		case known && len(name)+len("@{}") == len(text) && !s.embedded:
			s.bytes += len(template.AppendJSON(nil, v))
			if s.secrets {
				return rewritten(v, literals)
			}
			return v
		case known:
			shown := s.shown(v)
			s.bytes += len(shown)
			if b.WriteString(before); s.bytes <= MaxBytes {
				put = append(put, span{b.Len(), b.Len() + len(shown)})
				b.WriteString(shown)
			}
		default:
			b.WriteString(before + "@{" + name + "}")
			if !quoted && !slices.Contains(s.unknown, name) && len(s.unknown) < maxUnknown {
				s.unknown = append(s.unknown, name)
			}
		}
		rest = after[len(name)+len("}"):]
	}
}

// maxUnknown bounds how many unknown references are listed.
const maxUnknown = 8

// shown is a value within a text.
func (s *substitution) shown(v any) string {
	text, isText := v.(string)
	switch {
	case v == nil:
		return ""
	case !isText:
		text = string(template.AppendJSON(nil, v))
	}
	if !s.embedded {
		return text
	}
	quoted := wirejson.AppendText(nil, text)
	return string(quoted[1 : len(quoted)-1])
}

// isName reports whether a text between the braces may be a reference: code of other
// languages has the same braces.
func isName(name string) bool {
	if name == "" || len(name) > maxName || !unicode.IsLetter([]rune(name)[0]) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-[]", r)
	})
}

// At is what lies at a path of a value: output.items.0.name, or output.items[0].name.
func At(v any, path string) (any, bool) {
	path = strings.ReplaceAll(strings.ReplaceAll(path, "[", "."), "]", "")
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		switch x := v.(type) {
		case map[string]any:
			e, ok := x[name]
			if !ok {
				return nil, false
			}
			v = e
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// Same reports whether two names are one, in whatever spelling.
func Same(a, b string) bool { return a == b || squash(a) == squash(b) }

func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// Mentions reports whether some text of a value has another in it.
func Mentions(v any, text string) (found bool) {
	switch x := v.(type) {
	case string:
		return strings.Contains(x, text)
	case []any:
		return slices.ContainsFunc(x, func(e any) bool { return Mentions(e, text) })
	case map[string]any:
		for _, e := range x {
			found = found || Mentions(e, text)
		}
	}
	return found
}
