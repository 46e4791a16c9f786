package block

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

func known(name string) (any, bool) {
	v, ok := map[string]any{
		"n": int64(7), "list": []any{"a", "b"}, "quote": `say "x", @{n}`, "nothing": nil, "step_1.output": map[string]any{"k": true},
	}[name]
	return v, ok
}

// Promises 1 and 2: what a value becomes.
func TestSubstitute(t *testing.T) {
	for text, want := range map[string]any{
		"":                     "",
		"plain":                "plain",
		"@{n}":                 int64(7),
		" @{n}":                " 7",
		"@{list}":              []any{"a", "b"},
		"x @{list} @{n}@{n}":   `x ["a","b"] 77`,
		"@{quote}":             `say "x", @{n}`,
		"<@{quote}>":           `<say "x", @{n}>`,
		"[@{nothing}]":         "[]",
		"@{nothing}":           nil,
		"@@{n}":                "@{n}",
		"a@@{n}b":              "a@{n}b",
		"@@{unknown}":          "@@{unknown}",
		"@{unknown} @{n}":      "@{unknown} 7",
		"@{ n }":               "@{ n }",
		"@{$x} @{1} @{} @{n":   "@{$x} @{1} @{} @{n",
		"@{@{n}}":              "@{7}",
		"@{step_1.output}":     map[string]any{"k": true},
		"@{a b} @{n}":          "@{a b} 7",
		"user@{n}.example.org": "user7.example.org",
	} {
		out, _, err := Substitute(map[string]any{"v": []any{map[string]any{"@{n}": text}}}, known)
		if err != nil {
			t.Fatal(err)
		}
		if got := out["v"].([]any)[0].(map[string]any)["@{n}"]; !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %#v; want %#v", text, got, want)
		}
	}
	_, unknown, _ := Substitute(map[string]any{"a": "@{x} @{y.z} @{x} @@{q} @{n}", "b": "@{" + strings.Repeat("x", 300) + "}"}, known)
	if fmt.Sprint(unknown) != "[x y.z]" {
		t.Errorf("unknown: %q", unknown)
	}
	if _, _, err := Substitute(map[string]any{"a": strings.Repeat("@{big} ", 9)}, func(string) (any, bool) { return strings.Repeat("x", MaxBytes/8), true }); protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("too much: %v", err)
	}
}

// Promise 1. Beginnings without an end are read in linear time: in quadratic time this takes a minute.
func TestBeginningsWithoutEnd(t *testing.T) {
	text := strings.Repeat("@{", 2<<20)
	out, unknown, err := Substitute(map[string]any{"v": text}, known)
	if err != nil || len(unknown) > 0 || out["v"] != text {
		t.Errorf("%d unknown, %v", len(unknown), err)
	}
}

// Promise 2: whatever a step answered, a text that is JSON stays the same JSON.
func TestSubstituteWithinJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.String().AsAny(), rapid.SampledFrom([]any{`", "admin": true, "x": "`, "\\", "\n", int64(3), []any{`"`}})).Draw(t, "value")
		out, _, err := Substitute(map[string]any{"json": `{"a": "<@{v}>", "b": "@{v}"}`}, func(string) (any, bool) { return value, true }, "json")
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(out["json"].(string)), &got); err != nil || len(got) != 2 || got["a"] != "<"+got["b"]+">" {
			t.Fatalf("%s: %v, %v", out["json"], got, err)
		}
		if text, ok := value.(string); ok && got["b"] != strings.ToValidUTF8(text, "\ufffd") {
			t.Fatalf("%q became %q", text, got["b"])
		}
	})
}

func TestStepsAndPaths(t *testing.T) {
	if got := Steps(&protocol.Call{Params: map[string]any{"a": "@{step_3.status} @{step_1.output.x}", "b": []any{"@{step_3}"}, "c": "@{step_x} @{stepping_2}"}, URIs: map[string]string{"d": "fam://agent/@{step_2.output}"}}); fmt.Sprint(got) != "[1 2 3]" {
		t.Error(got)
	}
	v := map[string]any{"items": []any{map[string]any{"name": "a"}, "b"}}
	for path, want := range map[string]any{"": v, "items.0.name": "a", "items[1]": "b", "items[0].name": "a"} {
		if got, ok := At(v, path); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", path, got)
		}
	}
	for _, path := range []string{"x", "items.2", "items.-1", "items.0.name.x", "items.x"} {
		if got, ok := At(v, path); ok {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !Same("output_dir", "outputDir") || Same("a", "b") {
		t.Error("Same")
	}
}

// Promise 3: every step waits for steps before it alone, so that all run.
func TestOrder(t *testing.T) {
	for _, c := range []struct{ steps, want string }{
		{"1 2 3", "[[] [0] [0 1]]"},
		{"1 2:none 3:1", "[[] [] [0]]"},
		{"1 2:none 3:2 4", "[[] [] [1] [0 1 2]]"},
		{"1:none 2:NONE 5:2,1", "[[] [] [0 1]]"},
		{"1! 2:none 3:none", "[[] [0] [0]]"},
		{"1:none 2!:none 3:1", "[[] [0] [0 1]]"},
		{"1:none 2:none@1", "[[] [0]]"},
		{"1 2:3 3", "[[] [0] [0 1]] step 3 does not stand before step 2"},
		{"1:1", "[[]] step 1 does not stand before step 1"},
		{"1 2:a", "[[] [0]] want \"none\""},
		{"1 2:1,", "[[] [0]] want \"none\""},
	} {
		var steps []Step
		for w := range strings.FieldsSeq(c.steps) {
			var s Step
			w, refers, _ := strings.Cut(w, "@")
			w, s.After, _ = strings.Cut(w, ":")
			w, s.Alone = strings.CutSuffix(w, "!")
			_, _ = fmt.Sscan(w, &s.Index)
			if refers != "" {
				s.Refers = []int{int(refers[0] - '0')}
			}
			steps = append(steps, s)
		}
		waits, wrong := Order(steps)
		got := strings.ReplaceAll(fmt.Sprint(waits), "[] ", "[] ")
		for _, err := range wrong {
			if err != nil {
				got += " " + err.Error()
			}
		}
		list, fault, _ := strings.Cut(c.want, "]] ")
		if !strings.HasPrefix(got, strings.TrimSuffix(list, "]]")) || !strings.Contains(got, fault) || fault == "" && len(got) != len(c.want) {
			t.Errorf("%s: %s; want %s", c.steps, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var steps []Step
		for i := range rapid.IntRange(0, 12).Draw(t, "steps") {
			steps = append(steps, Step{Index: i + 1, Alone: rapid.Bool().Draw(t, "alone"), After: rapid.SampledFrom([]string{"", "none", "1", "2,1", "7", "-1", "x", "3, 3"}).Draw(t, "after")})
		}
		waits, _ := Order(steps)
		for i, list := range waits {
			for _, k := range list {
				if k >= i {
					t.Fatalf("%d waits for %d", i, k)
				}
			}
			for k := range i { // nothing runs beside a step that runs alone
				if (steps[i].Alone || steps[k].Alone) && !reaches(waits, i, k) {
					t.Fatalf("%d does not wait for %d", i, k)
				}
			}
		}
	})
}

func reaches(waits [][]int, from, to int) bool {
	for _, k := range waits[from] {
		if k == to || reaches(waits, k, to) {
			return true
		}
	}
	return false
}

func TestExtensions(t *testing.T) {
	never := func(string) bool { return false }
	for in, want := range map[string]string{"5": "5s", "1.5": "1.5s", "1m30s": "1m30s", "0": "is no time", "-1s": "is no time", "soon": "is no time", "NaN": "is no time"} {
		c := protocol.Call{Params: map[string]any{"x_timeout": in, "x_after": " 1,2 ", "a": "b", "x_other": "kept"}}
		d, err := Extensions(&c, never)
		if got := fmt.Sprint(d, err); !strings.Contains(got, want) || c.After != "1,2" || len(c.Params) != 2 {
			t.Errorf("%s: %s, %+v", in, got, c)
		}
	}
	c := protocol.Call{Params: map[string]any{"x_timeout": "1", "x_after": ""}}
	if d, err := Extensions(&c, func(name string) bool { return name == "x_timeout" }); d != 0*time.Second || err != nil || c.After != None || c.Params["x_timeout"] != "1" {
		t.Errorf("declared: %v, %v, %+v", d, err, c)
	}
}

// What a reference puts in names no secret, not even together with what stands around it.
func TestNoSecretByReference(t *testing.T) {
	values := func(name string) (any, bool) {
		v, ok := map[string]any{
			"whole": "$KARYI{A}", "tail": "KARYI{A}", "name": "A", "end": "A}", "plain": "x", "doubled": "$$KARYI{A}", "files": []any{map[string]any{"replace": "$KARYI{A}"}},
			"spelled": `{"replace":"\u0024KARYI{A} $KARYI{A}"}`,
		}[name]
		return v, ok
	}
	schema := &bind.Schema{Secrets: true, Properties: []bind.Property{{Name: "files", Type: bind.Type{Names: []string{"array"}, Items: &bind.Type{Names: []string{"object"}}}}, {Name: "text", Type: bind.Type{Names: []string{"string"}}}}}
	for text, want := range map[string]string{
		"echo @{whole} $KARYI{B}": "echo $$KARYI{A} $KARYI{B}", "@{whole}": "$$KARYI{A}", "$@{tail}": "$$KARYI{A}", "$KARYI{@{name}}": "$$KARYI{A}", "$KARYI{@{end}": "$$KARYI{A}",
		"@{plain} $KARYI{B} @{plain}": "x $KARYI{B} x", "@{plain}$KARYI{B}@{plain}": "x$KARYI{B}x", "$$KARYI{B} @{doubled}": "$$KARYI{B} $$$KARYI{A}",
	} {
		got, _, err := Bind(&protocol.Call{Params: map[string]any{"text": text}}, schema, values)
		if err != nil || got["text"] != want {
			t.Errorf("%s: %v %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"@{files}": "[map[replace:$$KARYI{A}]]", `[{"replace":"@{whole} $KARYI{B}"}]`: "[map[replace:$$KARYI{A} $KARYI{B}]]", "[@{spelled}]": "[map[replace:$$KARYI{A} $$KARYI{A}]]",
	} {
		got, _, err := Bind(&protocol.Call{Params: map[string]any{"files": text}}, schema, values)
		if err != nil || fmt.Sprint(got["files"]) != want {
			t.Errorf("%s: %v %v, want %s", text, got, err, want)
		}
	}
	schema.Secrets = false
	if got, _, err := Bind(&protocol.Call{Params: map[string]any{"text": "a @{whole}"}}, schema, values); err != nil || got["text"] != "a $KARYI{A}" {
		t.Errorf("a tool that knows no secrets: %v %v", got, err)
	}
}
