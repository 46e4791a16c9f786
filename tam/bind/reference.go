package bind

import (
	"maps"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// References are the bound parameters that are URIs of what is to be put in their place,
// by the names of the schema: those that the call gives as uri_NAME, texts for properties
// with x-uri that begin like a URI or an absolute path, and all that a tool wants as a path
// or a URI.
func References(c *protocol.Call, s *Schema, params map[string]any) map[string]string {
	if !s.References {
		return nil
	}
	var list map[string]string
	add := func(name, uri string) {
		if list == nil {
			list = map[string]string{}
		}
		list[name] = uri
	}
	b := binder{in: c, schema: s}
	given := map[string]bool{}
	for name, v := range c.Params {
		if p := b.lookup(name); p != nil {
			name = p.Name
		}
		given[name] = given[name] || !isNothing(v)
	}
	for name := range c.URIs {
		target, ordinary := b.standsFor(name)
		if uri, ok := params[target].(string); ok && !ordinary && !given[target] {
			add(target, uri)
		}
	}
	for i := range s.Properties {
		p := &s.Properties[i]
		if text, ok := params[p.Name].(string); ok && (p.URI == "path" || p.URI == "pass" || p.URI != "" && looksLikeURI(text)) {
			add(p.Name, text)
		}
	}
	return list
}

// FromURIs are the bound parameters that have the text of a uri_NAME of the call.
func FromURIs(c *protocol.Call, s *Schema, params map[string]any) (names []string) {
	b := binder{in: c, schema: s}
	for name, uri := range c.URIs {
		if target, _ := b.standsFor(name); params[target] == any(uri) {
			names = append(names, target)
		}
	}
	return names
}

// Hidden are the references of which a policy cannot judge what they stand for: all but those
// that the schema wants as URIs, of which rules judge the URI. data: has the content in it, in
// a form that no rule can be written for.
func Hidden(references map[string]string, s *Schema) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(references)) {
		if p := s.find(name); p == nil || p.URI == "" || strings.HasPrefix(strings.ToLower(references[name]), "data:") {
			names = append(names, name)
		}
	}
	return names
}

// looksLikeURI reports whether a text begins with a scheme that somebody could mean as a
// reference, also one that will be refused.
func looksLikeURI(text string) bool {
	if strings.HasPrefix(text, "/") {
		return true
	}
	scheme, _, found := strings.Cut(text, ":")
	if !found {
		return false
	}
	switch strings.ToLower(scheme) {
	case "fam", "artifact", "data", "file", "http", "https":
		return true
	}
	return false
}
