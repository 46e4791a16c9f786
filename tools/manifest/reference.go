package manifest

import (
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// What a tool gets in the place of a reference (x-uri of a parameter).
const (
	WantText  = "text"  // the text of the file
	WantBytes = "bytes" // its bytes, in base64
	WantPath  = "path"  // the path at which a program finds it
	WantPass  = "pass"  // the URI itself
)

// Wants are they, the default first.
func Wants() []string { return []string{WantText, WantBytes, WantPath, WantPass} }

// Wants is what a parameter wants in the place of a reference.
func (t *Tool) Wants(parameter string) string {
	properties, _ := t.Parameters["properties"].(map[string]any)
	property, _ := properties[parameter].(map[string]any)
	if want, ok := property[bind.URIKey].(string); ok {
		return want
	}
	return WantText
}

// rawKey asks for values of TAM as they were written.
const rawKey = "x-tam-raw"

// uris checks x-uri, which only parameters themselves can have.
func (c *checker) uris() {
	if c.tool.made || c.tool.Implementation.Type == MCP && c.tool.Parameters["properties"] == nil {
		return
	}
	properties, _ := c.tool.Parameters["properties"].(map[string]any)
	for _, name := range protocol.SortedKeys(properties) {
		property, _ := properties[name].(map[string]any)
		if _, raw := property[rawKey]; raw {
			c.fault(at("parameters", "properties", name, rawKey), "remove it", "%s is not carried out: values of a text are trimmed; native calls have them as they are", rawKey)
		}
		want, given := property[bind.URIKey]
		text, _ := want.(string)
		here := at("parameters", "properties", name, bind.URIKey)
		switch {
		case given && !slices.Contains(Wants(), text):
			c.fault(here, "", "%s: want one of %s", bind.URIKey, strings.Join(Wants(), ", "))
		case text == WantPath && c.tool.Implementation.Type != Script:
			c.fault(here, "", "%s: path is for tools of the type script, whose program finds a file there", bind.URIKey)
		case given && c.tool.Implementation.Within():
			c.fault(here, "remove it", "%s: a %s carries the tool out, and nobody fetches what references of it refer to", bind.URIKey, c.tool.Implementation.Type)
			c.faults[len(c.faults)-1].Strict = c.tool.Implementation.Type == Node
		}
		if steps := nested(property); steps != nil {
			c.fault(slices.Concat(at("parameters", "properties", name), steps), "remove it", "%s is for parameters themselves, not for parts of them", bind.URIKey)
		}
	}
}

// nested finds x-uri below a property.
func nested(v any) []string {
	switch x := v.(type) {
	case map[string]any:
		for _, name := range protocol.SortedKeys(x) {
			if inner, ok := x[name].(map[string]any); ok {
				if _, has := inner[bind.URIKey]; has && name != "properties" {
					return []string{name, bind.URIKey}
				}
			}
			if steps := nested(x[name]); steps != nil {
				return append([]string{name}, steps...)
			}
		}
	case []any:
		for i, e := range x {
			if steps := nested(e); steps != nil {
				return append([]string{strconv.Itoa(i)}, steps...)
			}
		}
	}
	return nil
}
