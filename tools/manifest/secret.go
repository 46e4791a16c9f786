package manifest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// SecretMark begins the place of a secret in a fixed text of a definition: $KARYI{NAME}.
const SecretMark = "$KARYI{"

// SecretsIn are the names of the secrets that a text of a call refers to, sorted. $$KARYI{ is
// no reference, and neither is what has no name.
func SecretsIn(text string) (names []string) {
	for _, m := range regexp.MustCompile(`(\$?)\$KARYI\{([A-Za-z_][A-Za-z0-9_]*)\}`).FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			names = append(names, m[2])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// secretsIn are the names of the secrets in the fixed texts of a value.
func secretsIn(v any) (names []string) {
	switch x := v.(type) {
	case string:
		for {
			_, rest, found := strings.Cut(x, SecretMark)
			if !found {
				return names
			}
			name, after, _ := strings.Cut(rest, "}")
			names, x = append(names, name), after
		}
	case map[string]any:
		for _, name := range protocol.SortedKeys(x) {
			names = append(names, secretsIn(name)...)
			names = append(names, secretsIn(x[name])...)
		}
	case []any:
		for _, e := range x {
			names = append(names, secretsIn(e)...)
		}
	}
	return names
}

// insert puts the values of secrets into a fixed text.
func insert(text string, secrets map[string]string) string {
	return insertAt(text, SecretMark, secrets)
}

// insertAt puts values into the places that a mark begins. No value is read again.
func insertAt(text, mark string, values map[string]string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, mark)
		if b.WriteString(before); !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(values[name])
		text = after
	}
}

// secrets checks that the secrets in a fixed value are among the needs.
func (c *checker) secrets(v any, needs []string, steps ...string) {
	for _, name := range secretsIn(v) {
		if !slices.Contains(needs, "secret:"+name) {
			c.fault(steps, `add "secret:`+protocol.Short(name, 64)+`" to needs`, "the secret %q is not among the needs", protocol.Short(name, 64))
		}
	}
}

// unused finds secrets among the needs that stand nowhere.
func (c *checker) unused(needs []string, texts ...any) {
	var used []string
	for _, v := range texts {
		used = append(used, secretsIn(v)...)
	}
	for i, need := range needs {
		if name, ok := strings.CutPrefix(need, "secret:"); ok && !slices.Contains(used, name) {
			c.fault(at("needs", strconv.Itoa(i)), "write $KARYI{"+name+"} where it belongs, in headers, query or body, or remove the need", "the secret %q stands in no header, query or body", protocol.Short(name, 64))
		}
	}
}

// HeaderOf are the headers of a server over HTTP, with secrets.
func (s *Server) HeaderOf(secrets map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range s.Headers {
		out[name] = insert(text, secrets)
	}
	return out
}

// Secrets are the names of the secrets among the needs of the server.
func (s *Server) Secrets() []string { return secretNames(s.Needs) }

func secretNames(needs []string) (names []string) {
	for _, need := range needs {
		if name, ok := strings.CutPrefix(need, "secret:"); ok {
			names = append(names, name)
		}
	}
	return names
}
