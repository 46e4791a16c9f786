package project

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// doubling is n definitions, each of them twice the next one.
func doubling(n int, twice string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  d%d: "+twice+"\n", i, i+1, i+1)
	}
	fmt.Fprintf(&b, "  d%d: {type: string}\n", n)
	return b.String()
}

func withSchema(schema string) fstest.MapFS {
	return fstest.MapFS{
		"scenes/main.yaml": {Data: []byte("{id: main, name: Main, agent_instances: [], simulation: {stop: {after: 1h}}}")},
		"project.yaml":     {Data: []byte("id: p\nevent_schemas: {note: schema.yaml}")},
		"schema.yaml":      {Data: []byte(schema)},
	}
}

// A schema that no value could be checked against is a fault with its place.
func TestSchemasHaveABound(t *testing.T) {
	either := `{anyOf: [{$ref: "#/$defs/d%d"}, {$ref: "#/$defs/d%d"}]}`
	for name, c := range map[string]struct{ schema, want string }{
		"alternatives":          {"properties: {x: {$ref: \"#/$defs/d0\"}}\n$defs:\n" + doubling(40, either), "schema.yaml:3:7: $defs.d0: one value would be checked against more than 10000 schemas"},
		"a circle":              {"$defs:\n  a: {allOf: [{$ref: \"#/$defs/a\"}]}\nitems: {$ref: \"#/$defs/a\"}", "schema.yaml:2:6: $defs.a: one value would be checked"},
		"a dynamic reference":   {"$dynamicAnchor: a\nproperties: {x: {$dynamicRef: \"#a\"}}", "schema.yaml:2:17: properties.x: $dynamicRef and $recursiveRef are not supported; use $ref"},
		"as much as is allowed": {"properties: {x: {$ref: \"#/$defs/d0\"}}\n$defs:\n" + doubling(11, either), ""},
		"a tree":                {"$defs: {node: {properties: {left: {$ref: \"#/$defs/node\"}, right: {$ref: \"#/$defs/node\"}}}}\n$ref: \"#/$defs/node\"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(withSchema(c.schema), Options{})
			if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// Alternatives that multiply with the depth of a value are found with the value,
// whatever keyword leads into it.
func TestChecksHaveABound(t *testing.T) {
	nested := func(depth int, wrap func(any) any) any {
		var v any = "end"
		for range depth {
			v = wrap(v)
		}
		return v
	}
	member := func(v any) any { return map[string]any{"a": v} }
	item := func(v any) any { return []any{v} }
	for name, c := range map[string]struct {
		into string
		wrap func(any) any
	}{
		"properties":            {"properties: {a: {$ref: \"#\"}}", member},
		"patternProperties":     {"patternProperties: {a: {$ref: \"#\"}}", member},
		"additionalProperties":  {"additionalProperties: {$ref: \"#\"}", member},
		"unevaluatedProperties": {"unevaluatedProperties: {$ref: \"#\"}", member},
		"items":                 {"items: {$ref: \"#\"}", item},
		"prefixItems":           {"prefixItems: [{$ref: \"#\"}]", item},
		"contains":              {"contains: {$ref: \"#\"}", item},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Load(withSchema("anyOf: [{"+c.into+"}, {"+c.into+"}]\nnot: {const: end}"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.CheckEvent("note", nested(3, c.wrap)); err != nil && strings.Contains(err.Error(), "steps") {
				t.Errorf("three levels: %v", err)
			}
			begin := time.Now()
			err = p.CheckEvent("note", nested(40, c.wrap))
			if want := "checking it against the schema takes more than 1000000 steps"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("forty levels: got %v, want %s", err, want)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %s to say so", took)
			}
		})
	}
}

// What a failed check says has a bound too, however many branches failed.
func TestViolationsHaveABound(t *testing.T) {
	either := `{anyOf: [{properties: {a: {$ref: "#/$defs/d%d"}}}, {properties: {a: {$ref: "#/$defs/d%d"}}}]}`
	p, err := Load(withSchema("$ref: \"#/$defs/d0\"\n$defs:\n"+doubling(12, either)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var payload any = int64(1)
	for range 12 {
		payload = map[string]any{"a": payload}
	}
	if err := p.CheckEvent("note", payload); err == nil || !strings.Contains(err.Error(), "anyOf") || len(err.Error()) > 2048 {
		t.Errorf("got %.100s of %d bytes", err, len(fmt.Sprint(err)))
	}
}

// Defaults that fill each other in have a bound, in a profile and in a scene.
func TestDefaultsHaveABound(t *testing.T) {
	profile := `{id: a, name: A, version: "1.0.0", schema_version: "1.0", core_deliberation_workflow_id: core,
initial_private_state_schema: {properties: {x: {properties: {l: {$ref: "#/properties/x", default: {}}, r: {$ref: "#/properties/x", default: {}}}%s}}}}`
	for name, c := range map[string]struct{ more, override, want string }{
		"of the profile":    {", default: {}", "", "agent_profiles/a.yaml:2:31: initial_private_state_schema: its defaults fill more than 10000 values"},
		"of an instance":    {"", ", initial_private_state_override: {x: {}}", `scenes/main.yaml:1:106: agent_instances[0].initial_private_state_override: the defaults of the schema of profile "a" fill more than 10000 values of this state`},
		"of nobody's state": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{
				"agent_profiles/a.yaml": {Data: fmt.Appendf(nil, profile, c.more)},
				"workflows/core.yaml":   {Data: []byte("nodes: [{id: in, type: GroupInput}]")},
				"scenes/main.yaml":      {Data: fmt.Appendf(nil, "{id: main, name: Main, agent_instances: [{instance_id: x, profile_id: a%s}], simulation: {stop: {after: 1h}}}", c.override)},
			}
			_, err := Load(files, Options{})
			if c.want == "" && err != nil || c.want != "" && fmt.Sprint(err) != c.want {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}
