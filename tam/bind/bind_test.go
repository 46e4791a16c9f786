package bind

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tavernsim/internal/lenient"
	"tavernsim/protocol"
	"tavernsim/tam"
)

func prop(typ any) map[string]any { return map[string]any{"type": typ} }

func schema(t *testing.T, closed bool, props map[string]any, required ...any) Schema {
	t.Helper()
	s, err := SchemaOf(map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": !closed})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func call(lines ...string) *protocol.Call {
	in := tam.Parse("<|[REQUEST_TOOL]|>\n" + strings.Join(lines, "\n") + "\n<|[END_TOOL]|>\n").Calls()
	if len(in) == 0 {
		return &protocol.Call{}
	}
	return &in[0]
}

// want binds a call; nil params want an error with all the faults.
func want(t *testing.T, c *protocol.Call, s Schema, params map[string]any, faults ...string) {
	t.Helper()
	got, err := Bind(c, &s)
	if !reflect.DeepEqual(got, params) {
		t.Errorf("params %#v, want %#v", got, params)
	}
	if (err != nil) != (len(faults) > 0) || err != nil && protocol.KindOf(err) != protocol.KindInvalid {
		t.Errorf("error %v, want %q", err, faults)
		return
	}
	for _, f := range faults {
		if !strings.Contains(err.Error(), f) {
			t.Errorf("error %v, want %q in it", err, f)
		}
	}
}

func TestT02_SquashedNames(t *testing.T) {
	s := schema(t, true, map[string]any{"filePath": prop("string")}, "filePath")
	for _, key := range []string{"filePath", "file_path", "FILEPATH", "File-Path", "FILE_PATH"} {
		want(t, call("command:»»»X«««", key+":»»»p«««"), s, map[string]any{"filePath": "p"})
	}
	both := schema(t, true, map[string]any{"filePath": prop("string"), "file_path": prop("string")})
	want(t, call("command:»»»X«««", "file_path:»»»p«««"), both, map[string]any{"file_path": "p"})
	want(t, call("command:»»»X«««", "FILEPATH:»»»p«««"), both, nil, "unknown parameter")
	want(t, call("command:»»»X«««", "filepath:»»»p«««", "file_path:»»»q«««"), s, nil, "both for the parameter filePath")
}

func TestT20_SchemaChoosesBetweenNameAndStep(t *testing.T) {
	s := schema(t, true, map[string]any{"image_1": prop("string"), "size": prop("integer"), "page_2": prop("integer"), "x1": prop("string")})
	in := call("command:»»»X«««", "image_1:»»»a«««", "size_1:»»»3«««", "page_2:»»»7«««", "x1:»»»b«««")
	want(t, in, s, map[string]any{"image_1": "a", "size": int64(3), "page_2": int64(7), "x1": "b"})
	s = schema(t, true, map[string]any{"a": prop("string"), "b": prop("string")})
	in = call("command:»»»X«««", "a_1:»»»1«««", "a_2:»»»2«««")
	want(t, in, s, nil, "unknown parameter a_2; expected one of a, b")
}

func TestT28_ReferencesAreRefused(t *testing.T) {
	in := call("command:»»»X«««", "uri_list:»»»[\"a\"]«««", "uri_image:»»»fam://i«««")
	list, image := prop("array"), prop("string")
	want(t, in, schema(t, true, map[string]any{"uri_list": list, "image": image}, "image"), nil, `received uri_image, a reference to "fam://i"; expected image itself`)
	want(t, in, schema(t, false, map[string]any{}), nil, "uri_image", "uri_list")
	delete(in.URIs, "image")
	want(t, in, schema(t, true, map[string]any{"uri_list": list, "image": image}), map[string]any{"uri_list": []any{"a"}})
}

func TestT29_HintsAreApplied(t *testing.T) {
	s := schema(t, false, map[string]any{"p": map[string]any{}})
	for _, c := range []struct {
		hint, text string
		want       any
	}{
		{"json", `{"a":[1,2.5,"x",null,true]}`, map[string]any{"a": []any{int64(1), 2.5, "x", nil, true}}},
		{"json", "```json\n{a: 'b', // note\n c: [1,2,], d: None\n```", map[string]any{"a": "b", "c": []any{int64(1), int64(2)}, "d": nil}},
		{"base64", "aGVs\nbG8=", "hello"},
		{"base64", "5Lit_-8="[:4], "中"},
		{"escaped", `a\nb\\n\x41\u4e2d\q`, "a\nb\\nA中\\q"},
		{"text", `{"a":1}`, `{"a":1}`},
	} {
		want(t, call("command:»»»X«««", "p:»»»"+c.text+"«««", "type_hint_p:»»»"+c.hint+"«««"), s, map[string]any{"p": c.want})
	}
	for _, bad := range [][2]string{{"json", "not json"}, {"json", `{"a":1} trailing`}, {"base64", "%%"}, {"base64", "-_-_"}} {
		want(t, call("command:»»»X«««", "p:»»»"+bad[1]+"«««", "type_hint_p:»»»"+bad[0]+"«««"), s, nil, "for p with type hint "+bad[0])
	}
}

// A text that ends within a value is no JSON: what stands there would be lost. It is said
// where it ends.
func TestT29_NothingIsLeftOutOfJSON(t *testing.T) {
	any, object := schema(t, false, map[string]any{"p": map[string]any{}}), schema(t, true, map[string]any{"p": prop("object")})
	for text, where := range map[string]string{`{bad`: `byte 4: the text ends behind the key "bad"`, `{"a": 1, "b":`: `byte 13: the text ends behind the key "b"`, `{"a" 1}`: "byte 7", "nope": "not JSON"} {
		want(t, call("command:»»»X«««", "p:»»»"+text+"«««", "type_hint_p:»»»json«««"), any, nil, "received "+strconv.Quote(text)+" for p with type hint json: not JSON", where)
		want(t, call("command:»»»X«««", "p:»»»"+text+"«««"), object, nil, "received "+strconv.Quote(text)+" for p; expected object")
	}
}

// What no fact could keep is refused, whatever the schema takes.
func TestDeepParameters(t *testing.T) {
	deep := any(int64(1))
	for range protocol.MaxNested {
		deep = []any{deep}
	}
	s := schema(t, true, map[string]any{"p": prop("array"), "q": prop("string")})
	want(t, &protocol.Call{Params: map[string]any{"p": deep, "q": "x"}}, s, map[string]any{"p": deep, "q": "x"})
	want(t, &protocol.Call{Params: map[string]any{"p": []any{deep}, "q": "x"}}, s, nil, "p: the value is nested deeper than 60")
}

// Promise 5: only a parameter that all steps share goes without a word.
func TestT30_ForeignCommonParamsAreDropped(t *testing.T) {
	in := call("command:»»»X«««", "common_dir:»»»d«««", "a:»»»1«««")
	want(t, in, schema(t, true, map[string]any{"a": prop("string")}), map[string]any{"a": "1"})
	want(t, in, schema(t, false, map[string]any{"a": prop("string")}), map[string]any{"a": "1", "dir": "d"})
}

// Promise 5: a comment goes without a word.
func TestT31_Comment(t *testing.T) {
	in := call("command:»»»X«««", "comment_1:»»»c«««")
	want(t, in, schema(t, false, map[string]any{"a": prop("string")}), map[string]any{})
	want(t, in, schema(t, true, map[string]any{"comment": prop("string")}), map[string]any{"comment": "c"})
}

func TestT36_FindTool(t *testing.T) {
	tools := []string{"File.Write", "File.Read", "workflow:x", "fileread", "A.b", "a.B"}
	for id, wanted := range map[string]string{"File.Write": "File.Write", "file.write": "File.Write", "File_Write": "File.Write", "Workflow:X": "workflow:x", "File-Read": "", "A.B": ""} {
		got, p := FindTool(id, tools)
		if got != wanted || wanted != "" && p != nil {
			t.Errorf("%s: %q %v", id, got, p)
		}
	}
	if _, near := FindTool("File.Wirte", tools); !slices.Contains(near, "File.Write") {
		t.Error(near)
	}
	if _, both := FindTool("A.B", tools); !slices.Equal(both, []string{"A.b", "a.B"}) {
		t.Error(both)
	}
}

// Promises 2, 3 and 4: texts stay, the cheapest reading is taken, and what cannot be read
// is named with what came.
func TestSection1_4_Coercion(t *testing.T) {
	for _, c := range []struct {
		name, text string
		typ        any
		want       any // "!" refused
	}{
		{"integer", "42", prop("integer"), int64(42)},
		{"integer with blanks", " -7 ", prop("integer"), int64(-7)},
		{"integer written 3.0", "3.0", prop("integer"), int64(3)},
		{"no integer", "3.5", prop("integer"), "!"},
		{"words are no integer", "three", prop("integer"), "!"},
		{"number", "2.5e1", prop("number"), 25.0},
		{"not finite", "NaN", prop("number"), "!"},
		{"hex is no number", "0x10", prop("number"), "!"},
		{"boolean", "true", prop("boolean"), true},
		{"boolean in capitals", "FALSE", prop("boolean"), false},
		{"Chinese boolean is off", "是", prop("boolean"), "!"},
		{"null only if nullable", "null", prop("integer"), "!"},
		{"nullable", "None", prop([]any{"integer", "null"}), nil},
		{"nullable text", "null", prop([]any{"string", "null"}), nil},
		{"text null stays", "null", prop("string"), "null"},
		{"text stays", `{"a": 1}`, prop("string"), `{"a": 1}`},
		{"text in a union stays", "42", prop([]any{"integer", "string"}), "42"},
		{"array", "[1, 2]", prop("array"), []any{int64(1), int64(2)}},
		{"array repaired", "['a', 'b',]", prop("array"), []any{"a", "b"}},
		{"one value as a list", "a b", prop("array"), []any{"a b"}},
		{"one value as a list of integers", "5", map[string]any{"type": "array", "items": prop("integer")}, []any{int64(5)}},
		{"items are coerced", `["1", 2.0]`, map[string]any{"type": "array", "items": prop("integer")}, []any{int64(1), int64(2)}},
		{"wrong items", `["x"]`, map[string]any{"type": "array", "items": prop("integer")}, "!"},
		{"object", `{"a": "1"}`, map[string]any{"type": "object", "properties": map[string]any{"a": prop("integer")}}, map[string]any{"a": int64(1)}},
		{"object repaired", `{a: 1, b: {c: True`, prop("object"), map[string]any{"a": int64(1), "b": map[string]any{"c": true}}},
		{"no object", "x", prop("object"), "!"},
		{"cheapest of a union", "1", map[string]any{"anyOf": []any{prop("array"), prop("number"), prop("integer")}}, 1.0},
		{"nullable keyword", "null", map[string]any{"type": "integer", "nullable": true}, nil},
		{"anything is JSON", "42", map[string]any{}, int64(42)},
		{"or text", "a: 42", map[string]any{}, "a: 42"},
		{"not repaired", "{a: 42}", map[string]any{}, "{a: 42}"},
		{"what the tool reads by itself", "[1]", map[string]any{"contentMediaType": "application/json"}, "[1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, declared := call("command:»»»X«««", "p:»»»"+c.text+"«««"), schema(t, true, map[string]any{"p": c.typ})
			if c.want == "!" {
				want(t, in, declared, nil, "received "+strconv.Quote(c.text)+" for p")
				return
			}
			want(t, in, declared, map[string]any{"p": c.want})
		})
	}
}

// Promise 5: what the tool does not know is an error.
func TestBind_MissingAndUnknownNameWhatIsExpected(t *testing.T) {
	s := schema(t, true, map[string]any{"a": prop("integer"), "b": prop("string")}, "a")
	want(t, call("command:»»»X«««", "c:»»»1«««"), s, nil, "unknown parameter c; expected one of a, b", "received no a; expected integer")
	want(t, call("command:»»»X«««", "a:»»»«««"), s, nil, "for a")
}

func TestBind_TypedParamsOfNativeCalls(t *testing.T) {
	s := schema(t, true, map[string]any{"n": prop("integer"), "s": prop("string"), "l": prop("array"), "x": map[string]any{}}, "n")
	for _, c := range []struct{ given, want map[string]any }{
		{map[string]any{"n": 3.0, "s": true, "l": int64(1)}, map[string]any{"n": int64(3), "s": "true", "l": []any{int64(1)}}},
		{map[string]any{"n": "7", "x": "7"}, map[string]any{"n": int64(7), "x": "7"}}, // text of a native call is meant as text
		{map[string]any{"n": int64(1), "s": nil}, map[string]any{"n": int64(1), "s": nil}},
		{map[string]any{"N": int64(1)}, map[string]any{"n": int64(1)}},
	} {
		want(t, &protocol.Call{Origin: protocol.OriginNative, Params: c.given}, s, c.want)
	}
	want(t, &protocol.Call{Params: map[string]any{"n": nil}}, s, nil, "received no n")
	want(t, &protocol.Call{Params: map[string]any{"n": []any{}}}, s, nil, "for n; expected integer")
}

// Promise 1: a call that fits costs nothing and gets its own parameters back.
func TestBind_WhatFitsIsNotCopied(t *testing.T) {
	s := schema(t, true, map[string]any{"n": prop("number"), "s": prop("string"), "o": prop("object")}, "n")
	c := &protocol.Call{Params: map[string]any{"n": int64(3), "s": "x", "o": map[string]any{"a": int64(1)}}}
	if n := testing.AllocsPerRun(100, func() { _, _ = Bind(c, &s) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSchemaOf_RefusesWhatIsNone(t *testing.T) {
	for _, v := range []any{"x", map[string]any{"properties": []any{}}} {
		if _, err := SchemaOf(v); err == nil || protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%v: %v", v, err)
		}
	}
}

// Promise 1. FuzzBind: whatever a model gives, as text or as values, binding does not panic,
// changes nothing, gives the same again, and gives values of the protocol under
// names of the schema.
func FuzzBind(f *testing.F) {
	for i, given := range []string{
		`{"a":"1","b":"{\"x\":1}"}`, `{"c":"[1,2"}`, `{"d":"1e400","e":"talk"}`, `{"A":" 7 ","f":null}`, `{"x":[{}],"b":2.5}`,
	} {
		f.Add(uint8(i), "b", given)
	}
	declared := map[string]any{"type": "object", "additionalProperties": false, "required": []any{"a"}, "properties": map[string]any{
		"a": prop("integer"), "b": map[string]any{}, "c": prop("array"), "d": prop("number"), "e": prop("string"), "f": prop([]any{"boolean", "null"}), "g": prop("object"),
	}}
	s, err := SchemaOf(declared)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, origin uint8, hinted, given string) {
		var raw map[string]any
		if json.Unmarshal([]byte(given), &raw) != nil {
			t.Skip()
		}
		v, err := protocol.Normalize(raw)
		params, ok := v.(map[string]any)
		if err != nil || !ok {
			t.Skip()
		}
		before := protocol.Encode(params)
		c := &protocol.Call{Params: params, TypeHints: map[string]string{hinted: []string{"json", "text", "", "base64", "escaped"}[origin%5]},
			Origin: []protocol.Origin{protocol.OriginTAM, protocol.OriginToolsXML, protocol.OriginNative}[origin/5%3]}
		bound, err := Bind(c, &s)
		again, errAgain := Bind(c, &s)
		if string(protocol.Encode(params)) != string(before) {
			t.Errorf("%s: it was changed to %v", given, params)
		}
		if !reflect.DeepEqual(bound, again) || (err == nil) != (errAgain == nil) {
			t.Errorf("%s: bound to %v, %v, then to %v, %v", given, bound, err, again, errAgain)
		}
		if err != nil {
			if protocol.KindOf(err) != protocol.KindInvalid {
				t.Errorf("%s: %v", given, err)
			}
			return
		}
		if _, err := protocol.Normalize(bound); err != nil {
			t.Errorf("%s: bound to %v: %v", given, bound, err)
		}
		for name := range bound {
			if s.property(name) == nil {
				t.Errorf("%s: bound to %v", given, bound)
			}
		}
	})
}

// A loose schema coerces what it can, and leaves everything else to another check.
func TestLoose(t *testing.T) {
	s := schema(t, true, map[string]any{"n": prop("integer"), "s": prop("string")}, "n", "s")
	s.Loose = true
	want(t, call("command:»»»X«««", "N:»»»7«««", "z:»»»x«««", "common_dir:»»»d«««"), s, map[string]any{"n": int64(7), "z": "x"})
	want(t, call("command:»»»X«««", "n:»»»seven«««"), s, map[string]any{"n": "seven"})
	want(t, call("command:»»»X«««", "uri_n:»»»fam://n«««"), s, nil, "uri_n")
}

// References go into the place of their parameters where somebody fetches them.
func TestReferences(t *testing.T) {
	s, err := SchemaOf(map[string]any{"properties": map[string]any{
		"a": map[string]any{"type": "string"}, "b": map[string]any{"type": "string", URIKey: "path"}, "uri_c": map[string]any{"type": "string"}, "n": map[string]any{"type": "integer", URIKey: "text"},
	}, "required": []any{"a"}, "additionalProperties": false})
	if err != nil {
		t.Fatal(err)
	}
	s.References, s.Loose = true, true
	for _, c := range []struct {
		fields []string
		want   map[string]string
		a      any
	}{
		{[]string{"uri_A:»»»fam://x«««"}, map[string]string{"a": "fam://x"}, "fam://x"},
		{[]string{"a:»»»1«««", "uri_a:»»»fam://x«««"}, nil, "1"},
		{[]string{"a:»»»«««", "uri_a:»»»/etc«««"}, map[string]string{"a": "/etc"}, "/etc"},
		{[]string{"a:»»»fam://x«««", "uri_c:»»»fam://c«««"}, nil, "fam://x"},
		{[]string{"a:»»»1«««", "b:»»»fam://b«««", "n:»»»data:,5«««"}, map[string]string{"b": "fam://b", "n": "data:,5"}, "1"},
		{[]string{"a:»»»1«««", "b:»»»plain«««", "n:»»»plain: text«««"}, map[string]string{"b": "plain"}, "1"},
		{[]string{"a:»»»1«««", "n:»»»/etc/passwd«««"}, map[string]string{"n": "/etc/passwd"}, "1"},
	} {
		in := call(append([]string{"command:»»»X«««"}, c.fields...)...)
		params, err := Bind(in, &s)
		if got := References(in, &s, params); err != nil || !maps.Equal(got, c.want) || params["a"] != c.a {
			t.Errorf("%q: %v %v %v", c.fields, got, params, err)
		}
	}
	if got := References(call("command:»»»X«««", "uri_a:»»»fam://x«««"), &Schema{}, nil); got != nil {
		t.Error(got)
	}
}

// Arguments that are kept as text are reported by what is wrong with them: they are no object, or hold a number that nothing can.
func TestBrokenArguments(t *testing.T) {
	s := schema(t, true, map[string]any{"path": prop("string"), "value": map[string]any{}})
	for _, c := range []struct{ text, want string }{
		{`{"path":"v","value":9223372036854775808}`, "the arguments cannot be read: the number 9223372036854775808 fits neither 64 bits nor a float; write it as text"},
		{`{"path":"v","value":[{"a":1e400}]}`, "the arguments cannot be read: the number 1e400 fits neither 64 bits nor a float; write it as text"},
		{`{"path":"v","val`, `the arguments are no JSON object: {"path":"v","val; write one object with the parameters`},
		{`[9223372036854775808]`, "the arguments are no JSON object: [9223372036854775808]; write one object with the parameters"},
		{`words`, "the arguments are no JSON object: words; write one object with the parameters"},
	} {
		got, err := Bind(&protocol.Call{Broken: c.text, Origin: protocol.OriginNative}, &s)
		if got != nil || err == nil || err.Error() != c.want || protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%s: %v %v; want %s", c.text, got, err, c.want)
		}
	}
}

// A default stands in for what is not given, of required parameters and others, in every form
// of a call.
func TestDefaults(t *testing.T) {
	s, err := SchemaOf(map[string]any{"required": []any{"d", "e"}, "additionalProperties": false, "properties": map[string]any{
		"d": map[string]any{"type": "integer", "default": int64(7)}, "e": map[string]any{"type": "string"}, "f": map[string]any{"type": "array", "default": []any{"x"}}, "n": map[string]any{"type": []any{"string", "null"}, "default": "y"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, origin := range []protocol.Origin{protocol.OriginTAM, protocol.OriginNative} {
		for _, c := range []struct{ given, want string }{
			{`{"e": "a"}`, `{"d":7,"e":"a","f":["x"],"n":"y"}`}, {`{"e": "a", "d": 0, "f": [], "n": ""}`, `{"d":0,"e":"a","f":[],"n":""}`},
			{`{"e": "a", "d": null, "f": null, "n": null}`, `{"d":7,"e":"a","f":["x"],"n":null}`}, {`{"e": "a", "d": 1, "f": ["z"], "n": "w"}`, `{"d":1,"e":"a","f":["z"],"n":"w"}`},
			{`{"d": 1}`, ""}, {`{"e": "a", "d": "x"}`, ""},
		} {
			read, err := lenient.Read(c.given, lenient.Options{Plain: true})
			if err != nil {
				t.Fatal(err)
			}
			got, err := Bind(&protocol.Call{Origin: origin, Params: read.Value.(map[string]any)}, &s)
			if text, _ := json.Marshal(got); (err != nil) != (c.want == "") || err == nil && string(text) != c.want {
				t.Errorf("%v %s: %s, %v", origin, c.given, text, err)
			}
		}
	}
	text, err := SchemaOf(map[string]any{"required": []any{"t"}, "properties": map[string]any{"t": map[string]any{"type": "string", "default": "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Bind(&protocol.Call{Params: map[string]any{"t": ""}}, &text); err != nil || got["t"] != "" {
		t.Errorf("an empty text: %v, %v", got, err)
	}
	shared, _ := Bind(&protocol.Call{Params: map[string]any{"e": "a"}}, &s)
	shared["f"].([]any)[0] = "changed"
	if again, _ := Bind(&protocol.Call{Params: map[string]any{"e": "a"}}, &s); again["f"].([]any)[0] != "x" {
		t.Error("a call changes the default")
	}
}
