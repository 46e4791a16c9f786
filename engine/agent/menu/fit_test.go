package menu

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

func object(names ...string) map[string]any {
	properties := map[string]any{}
	for _, name := range names {
		properties[name] = map[string]any{"type": "string", "description": "the " + name}
	}
	return map[string]any{"type": "object", "properties": properties, "required": []any{names[0]}, "additionalProperties": false}
}

// The longest descriptions are shortened before the largest schemas are folded, and no more than needed.
func TestFit(t *testing.T) {
	long := "Paints a picture. " + strings.Repeat("It has a style. ", 20)
	more := &protocol.ToolSpec{Name: "D", Description: "d", Parameters: object("tool")}
	made := func(bound int) (text string, cut bool) {
		var m Menu
		m.AddTool(&protocol.ToolSpec{Name: "paint", Description: long, Parameters: object("what", "style")}, true)
		m.AddTool(&protocol.ToolSpec{Name: "hum", Description: "Hums.", Parameters: object("tune")}, false)
		cut = m.Fit(bound, more)
		b, err := json.Marshal(m.List())
		if err != nil {
			t.Fatal(err)
		}
		if whole := m.Whole()["paint"].(map[string]any); whole["description"] != long || len(whole["parameters"].(map[string]any)["properties"].(map[string]any)["what"].(map[string]any)) != 2 {
			t.Errorf("the whole is %v", whole)
		}
		return string(b), cut
	}
	whole, cut := made(0)
	if cut {
		t.Error("0 is a bound")
	}
	const around = len("[,]")
	describe := len(`{"description":"d","name":"D","parameters":{"additionalProperties":false,"properties":{"tool":{"description":"the tool","type":"string"}},"required":["tool"],"type":"object"}}`)
	if text, cut := made(len(whole) - around); cut || text != whole {
		t.Error("what fits was cut:", text)
	}
	const paint, hum = `{"description":"Paints a picture.","detailed":true,"name":"paint",`, `{"description":"Hums.","name":"hum",`
	const paintParams = `"parameters":{"additionalProperties":false,"properties":{"style":{"description":"the style","type":"string"},"what":{"description":"the what","type":"string"}},"required":["what"],"type":"object"}}`
	const humParams = `"parameters":{"additionalProperties":false,"properties":{"tune":{"description":"the tune","type":"string"}},"required":["tune"],"type":"object"}}`
	short := "[" + paint + paintParams + "," + hum + humParams + "]"
	if text, cut := made(len(whole) - around - 1); !cut || text != short {
		t.Error(text)
	}
	folded := "[" + strings.Replace(paint, `"detailed":true,`, "", 1) + `"parameters":{"additionalProperties":false,"properties":{"style":{},"what":{}},"required":["what"],"type":"object"}},` + hum
	if text, _ := made(len(short) - around + describe - 1); text != folded+humParams+"]" {
		t.Error(text)
	}
	if text, _ := made(1); text != folded+`"parameters":{"additionalProperties":false,"properties":{"tune":{}},"required":["tune"],"type":"object"}}]` {
		t.Error(text)
	}
}

// The tool that tells the rest counts once, also for an agent that has it in its inventory.
func TestFitCountsTheDescriber(t *testing.T) {
	more := &protocol.ToolSpec{Name: "D", Description: "d", Parameters: object("tool")}
	style := strings.TrimSpace(strings.Repeat("It has a style. ", 5)) // shorter than what the tool D takes
	var m Menu
	m.AddTool(&protocol.ToolSpec{Name: "paint", Description: "Paints. " + style, Parameters: object("what")}, true)
	m.AddTool(more, false)
	whole, err := json.Marshal(m.List())
	if err != nil {
		t.Fatal(err)
	}
	if !m.Fit(len(whole)-len("[,]")-1, more) {
		t.Error("nothing was cut")
	}
	text, err := json.Marshal(m.List())
	if want := strings.Replace(string(whole), " "+style, "", 1); err != nil || string(text) != want {
		t.Errorf("%v %s\nwant %s", err, text, want)
	}
}

// A schema without properties is folded to one that is still a schema.
func TestFitFoldsAnySchema(t *testing.T) {
	var m Menu
	m.AddTool(&protocol.ToolSpec{Name: "a", Description: "d", Parameters: map[string]any{"type": "object", "oneOf": []any{map[string]any{"description": strings.Repeat("x", 3000)}}}}, true)
	m.Fit(500, &protocol.ToolSpec{Name: "more"})
	folded := m.List()[0].(map[string]any)["parameters"].(map[string]any)
	if names, ok := folded["properties"].(map[string]any); !ok || names == nil {
		t.Errorf("%#v", folded)
	}
}

// Names and what must be given are never lost, texts stay whole characters, and what was cut is smaller.
func TestFitKeepsNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m, full Menu
		for i := range rapid.IntRange(1, 12).Draw(t, "tools") {
			s := &protocol.ToolSpec{Name: fmt.Sprint("t", i), Description: rapid.StringN(0, 300, 600).Draw(t, "description"), Parameters: object(rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{1,9}"), 1, 5, rapid.ID).Draw(t, "parameters")...)}
			m.AddTool(s, true)
			full.AddTool(s, true)
		}
		bound := rapid.IntRange(1, 6000).Draw(t, "bound")
		cut := m.Fit(bound, &protocol.ToolSpec{Name: "D", Parameters: object("tool")})
		if a, b := size(m.List()), size(full.List()); a > b || !cut && a != b {
			t.Errorf("%d bytes of %d", a, b)
		}
		for i, v := range m.List() {
			got, was := v.(map[string]any), full.List()[i].(map[string]any)
			g, w := got["parameters"].(map[string]any), was["parameters"].(map[string]any)
			if got["name"] != was["name"] || fmt.Sprint(g["required"]) != fmt.Sprint(w["required"]) || !utf8.ValidString(got["description"].(string)) {
				t.Errorf("%v of %v", got, was)
			}
			for name := range w["properties"].(map[string]any) {
				if _, ok := g["properties"].(map[string]any)[name]; !ok {
					t.Errorf("%s is lost: %v", name, got)
				}
			}
		}
	})
}

// What Fit adds up is what JSON takes, of any value that a schema has.
func TestSizeIsThatOfJSON(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		kinds := []*rapid.Generator[any]{rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Float64().AsAny(), rapid.Int64().AsAny(), rapid.Just[any](nil), rapid.Just[any](map[string]any(nil)), rapid.Just[any]([]any(nil))}
		if depth > 0 {
			kinds = append(kinds, rapid.MapOfN(rapid.String(), value(depth-1), 0, 3).AsAny(), rapid.SliceOfN(value(depth-1), 0, 3).AsAny(), rapid.SliceOf(rapid.String()).AsAny())
		}
		return rapid.OneOf(kinds...)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		b, err := json.Marshal(v)
		if err == nil && size(v) != len(b) {
			t.Errorf("%d bytes of %s", size(v), b)
		}
	})
}
