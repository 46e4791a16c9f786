// Package secret hides the values of secrets, which it recognises by their names: at any
// depth, at paths that contain such a name, and in texts that contain a name with its
// value.
//
// Some facts only report what happened: the audit of state commands and the record
// of a tool call. Their authors pass them through this package. Facts that
// carry state must keep their values; code that shows them uses scenes/view/factjson.
package secret

import (
	"maps"
	"slices"
	"strings"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// Names are those under which a secret stands.
func Names() []string { return []string{"password", "secret_key", "api_key", "apiKey", "access_token"} }

// Is reports whether a name is one of them.
func Is(name string) bool {
	switch name {
	case "password", "secret_key", "api_key", "apiKey", "access_token":
		return true
	}
	return false
}

// OnPath reports whether a path leads through the name of a secret.
func OnPath(path string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(`.[]/"'`, r) }), Is)
}

// Hide hides secrets in a value; it copies only what it changes.
func Hide(v any) (out any, changed bool) {
	switch x := v.(type) {
	case string:
		if text := Text(x); text != x {
			return text, true
		}
	case []any:
		return hideList(x)
	case map[string]any:
		return hideMap(x)
	}
	return v, false
}

func hideList(list []any) (out any, changed bool) {
	own := list
	for i, e := range list {
		c, did := Hide(e)
		if !did {
			continue
		}
		if !changed {
			own, changed = slices.Clone(list), true
		}
		own[i] = c
	}
	return own, changed
}

// hideMap hides what stands under the name of a secret, and of parameters that
// name a path through one what is to stand there.
func hideMap(m map[string]any) (out any, changed bool) {
	own, there := m, leadsToSecret(m)
	for name, e := range m {
		c, did := Hide(e)
		if Is(name) || there && BesidePath(name) {
			c, did = Redacted, true
		}
		if !did {
			continue
		}
		if !changed {
			own, changed = maps.Clone(m), true
		}
		own[name] = c
	}
	return own, changed
}

func leadsToSecret(m map[string]any) bool {
	for _, name := range []string{"path", "key"} {
		if text, ok := m[name].(string); ok && OnPath(text) {
			return true
		}
	}
	return false
}

// BesidePath names what, in a call or a change, stands beside a path and holds
// what is there.
func BesidePath(name string) bool {
	switch name {
	case "value", "before", "after", "options", "params", "entry", "expected":
		return true
	}
	return false
}

// Text hides in a text what follows the name of a secret and :, = or > as its
// value: in quotes, to the next space or separator, or, of an object or a list, to
// its end. Where values cannot be told apart the rest of the text is hidden. Hiding
// again changes nothing.
func Text(s string) string {
	if !slices.ContainsFunc(Names(), func(name string) bool { return strings.Contains(s, name) }) {
		return s
	}
	names := find(s)
	at, end := names.from(0)
	if at < 0 {
		return s
	}
	var b strings.Builder
	done := 0
	for ; at >= 0; at, end = names.from(done) {
		from, to := valueIn(s[end:])
		if strings.HasSuffix(s[:at], "</") {
			from, to = 0, 0 // the end of an element
		}
		b.WriteString(s[done : end+from])
		if to > from {
			b.WriteString(Redacted)
		}
		done = end + to
	}
	b.WriteString(s[done:])
	return b.String()
}

// finder finds the names of secrets in a text, one after the other, and reads it
// once for each name.
type finder struct {
	text  string
	names []string
	next  []int // by name: where it comes next; the text's length = not any more
}

func find(text string) *finder {
	f := &finder{text: text, names: Names()}
	for i := range f.names {
		f.next = append(f.next, f.look(i, 0))
	}
	return f
}

func (f *finder) look(name, from int) int {
	if i := strings.Index(f.text[from:], f.names[name]); i >= 0 {
		return from + i
	}
	return len(f.text)
}

// from is the first name at a place or behind it; -1 = there is none.
func (f *finder) from(place int) (at, end int) {
	at = -1
	for i, name := range f.names {
		if f.next[i] < place {
			f.next[i] = f.look(i, place)
		}
		if n := f.next[i]; n < len(f.text) && (at < 0 || n < at) {
			at, end = n, n+len(name)
		}
	}
	return at, end
}

// mostInside bounds the names that are looked at within one value.
const mostInside = 64

// valueIn finds what is to be hidden after a name; nothing when no value follows,
// or a hidden one. Where the value of a name inside ends behind it, and where there
// are too many names, the rest of the text is hidden.
func valueIn(s string) (from, to int) {
	from, to = oneValue(s)
	if s[from:to] == Redacted {
		return to, to
	}
	if to == len(s) {
		return from, to
	}
	inside := find(s[from:to])
	at, end := inside.from(0)
	for n := 0; at >= 0; at, end = inside.from(end) {
		_, more := oneValue(s[from+end:])
		if n++; n > mostInside || from+end+more > to {
			return from, len(s)
		}
	}
	return from, to
}

func oneValue(s string) (from, to int) {
	n := len(s) - len(strings.TrimLeft(s, "\"'\\ \t\r\n"))
	if rest := s[n:]; rest == "" || !strings.ContainsRune(":=>", rune(rest[0])) {
		return 0, 0
	}
	element := s[n] == '>'
	n++
	n += len(s[n:]) - len(strings.TrimLeft(s[n:], " \t\r\n"))
	if end := strings.IndexByte(s[n:], '<'); element && end >= 0 {
		return n, n + end
	}
	for _, open := range []string{`\"`, `"`, "'", "「始」"} {
		if rest, quoted := strings.CutPrefix(s[n:], open); quoted {
			from = n + len(open)
			return from, from + closing(rest, open)
		}
	}
	return n, n + bare(s[n:])
}

// bare is where a value ends that is not in quotes: at a separator, behind the
// object or the list with which it begins.
func bare(s string) int {
	n := 0
	if rest, hidden := strings.CutPrefix(s, Redacted); hidden {
		n = len(s) - len(rest)
	} else {
		n = nested(s)
	}
	if end := strings.IndexAny(s[n:], " \t\r\n,;<)}]\"'"); end >= 0 {
		return n + end
	}
	return len(s)
}

// nested is the length of the object or list with which a text begins; 0 = it
// begins with another value.
func nested(s string) int {
	if s == "" || s[0] != '{' && s[0] != '[' {
		return 0
	}
	for depth, i := 0, 0; i < len(s); i++ {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			i += 1 + closing(s[i+1:], `"`)
		case '\\':
			if strings.HasPrefix(s[i:], `\"`) {
				i += 2 + closing(s[i+2:], `\"`) + 1
			}
		}
	}
	return len(s)
}

// closing is where a quoted value ends; the end of the text when it is not closed.
func closing(s, open string) int {
	if open == "「始」" {
		if end := strings.Index(s, "「末」"); end >= 0 {
			return end
		}
		return len(s)
	}
	for i, escapes := 0, 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			escapes++
			continue
		case s[i] == open[len(open)-1] && ends(escapes, open):
			return i - (len(open) - 1)
		}
		escapes = 0
	}
	return len(s)
}

// ends reports whether a quote behind so many backslashes ends a value: in JSON an
// even number, and within a text in JSON, where each of them is doubled and the
// quote has its own, every second odd one.
func ends(escapes int, open string) bool {
	if len(open) == 2 {
		return escapes%4 == 1
	}
	return escapes%2 == 0
}
