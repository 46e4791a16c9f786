package bind

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

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

func call(lines ...string) tam.Invocation {
	in := tam.Parse("<|[REQUEST_TOOL]|>\n" + strings.Join(lines, "\n") + "\n<|[END_TOOL]|>\n").Invocations()
	if len(in) == 0 {
		return tam.Invocation{}
	}
	return in[0]
}

func want(t *testing.T, b Bound, params map[string]any, codes ...tam.Code) {
	t.Helper()
	if !reflect.DeepEqual(b.Params, params) {
		t.Errorf("params %#v, want %#v", b.Params, params)
	}
	var got []tam.Code
	for _, p := range b.Problems {
		got = append(got, p.Code)
	}
	if !slices.Equal(got, codes) {
		t.Errorf("problems %v, want %v", b.Problems, codes)
	}
}

func TestT02_SquashedNames(t *testing.T) {
	s := schema(t, true, map[string]any{"filePath": prop("string")}, "filePath")
	for _, key := range []string{"filePath", "file_path", "FILEPATH", "File-Path", "FILE_PATH"} {
		want(t, Bind(call("command:»»»X«««", key+":»»»p«««"), s, Options{}), map[string]any{"filePath": "p"})
	}
	both := schema(t, true, map[string]any{"filePath": prop("string"), "file_path": prop("string")})
	want(t, Bind(call("command:»»»X«««", "file_path:»»»p«««"), both, Options{}), map[string]any{"file_path": "p"})
	want(t, Bind(call("command:»»»X«««", "FILEPATH:»»»p«««"), both, Options{}), map[string]any{}, UnknownParam)
	want(t, Bind(call("command:»»»X«««", "filepath:»»»p«««", "file_path:»»»q«««"), s, Options{}), map[string]any{"filePath": "q"}, tam.DuplicateKey)
}

func TestT20_SchemaChoosesBetweenNameAndStep(t *testing.T) {
	s := schema(t, true, map[string]any{"image_1": prop("string"), "size": prop("integer"), "page_2": prop("integer"), "x1": prop("string")})
	in := call("command:»»»X«««", "image_1:»»»a«««", "size_1:»»»3«««", "page_2:»»»7«««", "x1:»»»b«««")
	want(t, Bind(in, s, Options{}), map[string]any{"image_1": "a", "size": int64(3), "page_2": int64(7), "x1": "b"}, tam.ParamRenamed, tam.ParamRenamed)
	s = schema(t, true, map[string]any{"a": prop("string"), "b": prop("string")})
	in = call("command:»»»X«««", "a_1:»»»1«««", "a_2:»»»2«««")
	want(t, Bind(in, s, Options{}), map[string]any{"a": "1"}, tam.ParamRenamed, UnknownParam)
}

func TestT28_SchemaWinsOverURIPrefix(t *testing.T) {
	in := call("command:»»»X«««", "uri_list:»»»[\"a\"]«««", "uri_image:»»»fam://i«««")
	b := Bind(in, schema(t, true, map[string]any{"uri_list": prop("array"), "image": prop("string")}), Options{})
	want(t, b, map[string]any{"uri_list": []any{"a"}})
	if !reflect.DeepEqual(b.URIs, map[string]string{"image": "fam://i"}) {
		t.Error(b.URIs)
	}
	b = Bind(in, schema(t, true, map[string]any{"image": prop("string")}), Options{})
	want(t, b, map[string]any{}, UnknownParam)
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
		{"base64", "-_-_", "\xfb\xff\xbf"},
		{"escaped", `a\nb\\n\x41\u4e2d\q`, "a\nb\\nA中\\q"},
		{"text", `{"a":1}`, `{"a":1}`},
	} {
		b := Bind(call("command:»»»X«««", "p:»»»"+c.text+"«««", "type_hint_p:»»»"+c.hint+"«««"), s, Options{})
		want(t, b, map[string]any{"p": c.want})
	}
	for _, bad := range [][2]string{{"json", "not json"}, {"json", `{"a":1} trailing`}, {"base64", "%%"}} {
		b := Bind(call("command:»»»X«««", "p:»»»"+bad[1]+"«««", "type_hint_p:»»»"+bad[0]+"«««"), s, Options{})
		want(t, b, map[string]any{}, ParamError)
		if b.OK() || !strings.Contains(b.Problems[0].Message, "p") {
			t.Error(b.Problems)
		}
	}
}

func TestT30_ForeignCommonParamsAreDropped(t *testing.T) {
	in := call("command:»»»X«««", "common_dir:»»»d«««", "a:»»»1«««")
	want(t, Bind(in, schema(t, true, map[string]any{"a": prop("string")}), Options{}), map[string]any{"a": "1"})
	want(t, Bind(in, schema(t, false, map[string]any{"a": prop("string")}), Options{}), map[string]any{"a": "1", "dir": "d"})
}

func TestT31_CommentAndLint(t *testing.T) {
	in := call("command:»»»X«««", "comment_1:»»»c«««")
	want(t, Bind(in, schema(t, false, map[string]any{"a": prop("string")}), Options{}), map[string]any{})
	want(t, Bind(in, schema(t, true, map[string]any{"comment": prop("string")}), Options{}), map[string]any{"comment": "c"})
	s := schema(t, true, map[string]any{"comment": prop("string"), "uriList": prop("string"), "uric_acid": prop("string"), "retry": prop("integer"), "requestId": prop("string"), "common_x": prop("string"), "path": prop("string")})
	if got := Lint(s); !slices.Equal(got, []string{"comment", "common_x", "requestId", "retry", "uriList"}) {
		t.Error(got)
	}
}

func TestT36_FindTool(t *testing.T) {
	tools := []string{"File.Write", "File.Read", "workflow:x", "fileread", "A.b", "a.B"}
	for id, wanted := range map[string]string{"File.Write": "File.Write", "file.write": "File.Write", "File_Write": "File.Write", "Workflow:X": "workflow:x", "File-Read": "", "A.B": ""} {
		got, p := FindTool(id, tools)
		if got != wanted || (p == nil) != (wanted != "") {
			t.Errorf("%s: %q %v", id, got, p)
		}
	}
	if _, p := FindTool("File.Wirte", tools); p == nil || !strings.Contains(p.Message, "File.Write") || p.Code != tam.UnknownTool {
		t.Error(p)
	}
}

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
		{"anything", "42", map[string]any{}, "42"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := Bind(call("command:»»»X«««", "p:»»»"+c.text+"«««"), schema(t, true, map[string]any{"p": c.typ}), Options{})
			if c.want == "!" {
				if want(t, b, map[string]any{}, ParamError); !strings.Contains(b.Problems[0].Message, strconv.Quote(c.text)) {
					t.Error(b.Problems)
				}
				return
			}
			want(t, b, map[string]any{"p": c.want})
			if _, isText := c.want.(string); isText != (len(b.Coercions) == 0) {
				t.Errorf("coercions %v", b.Coercions)
			}
		})
	}
	b := Bind(call("command:»»»X«««", "p:»»»否«««"), schema(t, true, map[string]any{"p": prop("boolean")}), Options{ChineseBooleans: true})
	want(t, b, map[string]any{"p": false})
}

func TestBind_MissingAndUnknownNameWhatIsExpected(t *testing.T) {
	s := schema(t, true, map[string]any{"a": prop("integer"), "b": prop("string")}, "a")
	b := Bind(call("command:»»»X«««", "c:»»»1«««"), s, Options{})
	want(t, b, map[string]any{}, UnknownParam, MissingParam)
	if b.OK() || !strings.Contains(b.Problems[0].Message, "a, b") || !strings.Contains(b.Problems[1].Message, "integer") {
		t.Error(b.Problems)
	}
}

func TestBind_TypedParamsOfNativeCalls(t *testing.T) {
	s := schema(t, true, map[string]any{"n": prop("integer"), "s": prop("string"), "l": prop("array")})
	in := tam.Invocation{Call: protocol.Call{Params: map[string]any{"n": 3.0, "s": true, "l": int64(1)}}}
	want(t, Bind(in, s, Options{}), map[string]any{"n": int64(3), "s": "true", "l": []any{int64(1)}})
}

func TestSchemaOf_RefusesWhatIsNone(t *testing.T) {
	for _, v := range []any{"x", map[string]any{"properties": []any{}}} {
		if _, err := SchemaOf(v); err == nil || protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%v: %v", v, err)
		}
	}
}

// FuzzRepair: no panic, what strict JSON reads is read the same, and the result
// is a value of the protocol.
func FuzzRepair(f *testing.F) {
	for _, s := range []string{`{"a":1}`, "{a:'b',}", "[1 2 3", "```json\n[1]\n```", `{"a": {"b": [True, None`, "[[[[", `{"\u00"`, "{a//b\n:1}", "/*", `{'a\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, ok := Repair(s)
		if !ok {
			return
		}
		if _, err := protocol.Normalize(v); err != nil {
			t.Fatalf("%q gives %#v: %v", s, v, err)
		}
		Unescape(s)
	})
}
