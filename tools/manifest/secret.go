package manifest

import (
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tools/manifest/places"
)

// secrets checks that the secrets in a fixed value are among the needs.
func (c *checker) secrets(v any, needs []string, steps ...string) {
	for _, name := range places.Secret.Names(v) {
		if !slices.Contains(needs, "secret:"+name) {
			c.fault(steps, `add "secret:`+protocol.Short(name, 64)+`" to needs`, "the secret %q is not among the needs", protocol.Short(name, 64))
		}
	}
}

// unused finds secrets among the needs that stand nowhere.
func (c *checker) unused(needs []string, texts ...any) {
	used := places.Secret.Names(texts)
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
		out[name] = places.Secret.Fill(text, secrets)
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
