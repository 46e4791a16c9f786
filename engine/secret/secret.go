// Package secret knows under which names secrets stand, and hides them: in values
// at any depth, at paths that lead through such a name, and in texts that name one
// with its value.
//
// Facts that only tell what happened, the audit of state commands and the record
// of a tool call, come through here when they are made. Facts that are the state
// cannot; who shows them comes through scenes/fields.
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
		text := Text(x)
		return text, text != x
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
// value, in quotes or not.
func Text(s string) string {
	for _, name := range Names() {
		if strings.Contains(s, name) {
			s = hideAfter(s, name)
		}
	}
	return s
}

func hideAfter(s, name string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, name)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(name)
		from, to := valueIn(after)
		if to > from {
			b.WriteString(after[:from])
			b.WriteString(Redacted)
		} else {
			b.WriteString(after[:to])
		}
		s = after[to:]
	}
}

// valueIn finds the value in what follows a name; nothing when none follows.
func valueIn(s string) (from, to int) {
	n := len(s) - len(strings.TrimLeft(s, "\"'\\ \t\r\n"))
	if rest := s[n:]; rest == "" || !strings.ContainsRune(":=>", rune(rest[0])) {
		return 0, 0
	}
	n++
	n += len(s[n:]) - len(strings.TrimLeft(s[n:], " \t\r\n"))
	for _, q := range [][2]string{{`\"`, `\"`}, {`"`, `"`}, {"'", "'"}, {"「始」", "「末」"}} {
		if rest, quoted := strings.CutPrefix(s[n:], q[0]); quoted {
			from = n + len(q[0])
			if end := strings.Index(rest, q[1]); end >= 0 {
				return from, from + end
			}
			return from, len(s)
		}
	}
	if end := strings.IndexAny(s[n:], " \t\r\n,;<)}]\"'"); end >= 0 {
		return n, n + end
	}
	return n, len(s)
}
