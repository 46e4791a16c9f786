package fields

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tavernsim/engine/statecmd"
)

// What a fact or a state holds under the name of a secret is shown as [redacted]:
// in values at any depth, at paths that lead through such a name, and in texts
// that name one with its value. The journal holds what the scene needs to go on;
// whoever shows it comes through here.

// Secret reports whether a path leads through the name of a secret.
func Secret(path string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(`.[]/"'`, r) }), statecmd.SecretKey)
}

// At is what stands at a path, as this package shows values.
func At(path string, shown any) any {
	if shown == nil || !Secret(path) {
		return shown
	}
	return JSON(statecmd.Redacted)
}

// clean hides secrets in a value; it copies only what it changes.
func clean(v any) any {
	out, _ := cleaned(v)
	return out
}

func cleaned(v any) (out any, changed bool) {
	switch x := v.(type) {
	case string:
		text := Text(x)
		return text, text != x
	case []any:
		return cleanList(x)
	case map[string]any:
		return cleanMap(x)
	}
	return v, false
}

func cleanList(list []any) (out any, changed bool) {
	own := list
	for i, e := range list {
		c, did := cleaned(e)
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

// cleanMap hides what stands under the name of a secret, and of parameters that
// name a path through one what is to stand there.
func cleanMap(m map[string]any) (out any, changed bool) {
	own, there := m, leadsToSecret(m)
	for name, e := range m {
		c, did := cleaned(e)
		if statecmd.SecretKey(name) || there && holdsValue(name) {
			c, did = statecmd.Redacted, true
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
		if text, ok := m[name].(string); ok && Secret(text) {
			return true
		}
	}
	return false
}

// holdsValue names what stands beside a path.
func holdsValue(name string) bool {
	switch name {
	case "value", "before", "after", "options", "params", "entry", "expected":
		return true
	}
	return false
}

// Text hides in a text what follows the name of a secret and :, = or > as its
// value, in quotes or not.
func Text(s string) string {
	for _, name := range statecmd.SecretKeys() {
		if strings.Contains(s, name) {
			s = hide(s, name)
		}
	}
	return s
}

func hide(s, name string) string {
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
			b.WriteString(statecmd.Redacted)
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

// secretMembers hides the values of an object whose path leads through the name
// of a secret.
func secretMembers(o Object) {
	hidden := false
	for _, m := range o {
		text, ok := m.Value.(string)
		hidden = hidden || ok && (m.Name == "path" || m.Name == "key") && Secret(text)
	}
	for i := range o {
		if _, is := o[i].Value.(json.RawMessage); is && hidden && holdsValue(o[i].Name) {
			o[i].Value = JSON(statecmd.Redacted)
		}
	}
}
