package jsontext

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tavernsim/protocol"
)

func anything(any) bool { return true }

func container(v any) bool {
	switch v.(type) {
	case *Array, *Object:
		return true
	}
	return false
}

// show writes a value so that order, doubles and cuts can be seen.
func show(v any) string {
	switch x := v.(type) {
	case *Array:
		s := "["
		for _, e := range x.Items {
			s += show(e) + " "
		}
		return strings.TrimSuffix(s, " ") + map[bool]string{true: "...", false: "]"}[x.Cut]
	case *Object:
		s := "{"
		for _, m := range x.Members {
			s += m.Key + ":" + show(m.Value) + " "
		}
		return strings.TrimSuffix(s, " ") + map[bool]string{true: "...", false: "}"}[x.Cut]
	case string:
		return fmt.Sprintf("%q", x)
	case Number:
		return "!" + string(x)
	}
	return fmt.Sprintf("%v(%T)", v, v)
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, in, want, repairs string }{
		{"strict", `{"b":1,"a":1.0,"b":[true,null,"x\u65e5\ud83d\ude00"]}`, `{b:1(int64) a:1(float64) b:[true(bool) <nil>(<nil>) "x日😀"]}`, ""},
		{"numbers", `[9007199254740993,-0,1e3,123456789012345678901,1e999]`, `[9007199254740993(int64) 0(int64) 1000(float64) !123456789012345678901 !1e999]`, ""},
		{"fence", "Here:\n```json\n{\"a\":1}\n```\nDone.", `{a:1(int64)}`, ""},
		{"around", `Sure! {"a":1} as you said`, `{a:1(int64)}`, ""},
		{"reasoning", `<think>{"a":9}</think>{"a":1}.`, `{a:1(int64)}`, ""},
		{"commas", `{"a":1,,"b":[1,2,],}`, `{a:1(int64) b:[1(int64) 2(int64)]}`, "doubled comma at byte 7|trailing comma at byte 17|trailing comma at byte 19"},
		{"no commas", "[1 2\n\"x\"]", `[1(int64) 2(int64) "x"]`, "missing comma at byte 3|missing comma at byte 5"},
		{"quotes", `{'a':'it\'s', “b”:“c”}`, `{a:"it's" b:"c"}`, "quotes"},
		{"bare", `{a: True, 名: None}`, `{a:true(bool) 名:<nil>(<nil>)}`, "bare key"},
		{"comments", "{// x\n\"a\":1 /* y */}", `{a:1(int64)}`, "comment"},
		{"inner quote", `{"a":"he said "hi" and left","b":1}`, `{a:"he said \"hi\" and left" b:1(int64)}`, "quote inside text"},
		{"line break", "{\"a\":\"x\ny\"}", `{a:"x\ny"}`, "control character"},
		{"cut object", `[{"a":1},{"b":"xy`, `[{a:1(int64)} {b:"xy"......`, "end of text inside quotes"},
		{"cut key", `{"a":1,"b"`, `{a:1(int64)...`, "end of text inside an object"},
		{"full width", `{"a"：1，"b"：2}`, `{a:1(int64) b:2(int64)}`, "full-width colon"},
		{"wrong closer", `{"a":[1,2}`, `{a:[1(int64) 2(int64)]}`, `"}" where "]"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.in, container)
			if err != nil {
				t.Fatal(err)
			}
			if show(got.Value) != c.want {
				t.Errorf("read %s; want %s", show(got.Value), c.want)
			}
			repairs := strings.Join(got.Repairs, "|")
			if c.repairs == "" && repairs != "" || !strings.Contains(repairs, c.repairs) {
				t.Errorf("repairs %q; want %q", repairs, c.repairs)
			}
		})
	}
}

func TestParse_refuses(t *testing.T) {
	for _, in := range []string{"", "no json at all", "}", `{"a":}`, strings.Repeat("[", 100), `{"a":01}`, "{:1}"} {
		if got, err := Parse(in, container); err == nil {
			t.Errorf("%.20q was read as %s", in, show(got.Value))
		}
	}
	if _, err := Parse(strings.Repeat(" ", MaxBytes+1), anything); protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("too long: %v", err)
	}
}

// FuzzParse: what encoding/json accepts reads the same; nothing panics; what was
// read can be turned into a value and back.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x"],"b":null}`, "```json\n[1,]\n```", `{a:'b'`, `"\ud800"`, `[1e400]`, `{"a":"b"c"}`, "<think>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s, anything)
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		var want any
		if json.Valid([]byte(s)) && dec.Decode(&want) == nil {
			if err != nil {
				if strings.Contains(err.Error(), "nested deeper") {
					return
				}
				t.Fatalf("valid JSON was refused: %v", err)
			}
			plain, err := Plain(got.Value)
			norm, normErr := protocol.Normalize(want)
			if err == nil && normErr == nil && !reflect.DeepEqual(plain, norm) && !strings.Contains(fmt.Sprint(norm), "\ufffd") {
				t.Fatalf("%q: read %v; encoding/json %v", s, plain, norm)
			}
			return
		}
		if err == nil {
			if plain, err := Plain(got.Value); err == nil {
				protocol.Encode(plain)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := `{"action":"set","key":"character.saveData.玩家角色状态.位置","value":{"描述":"集市南口","X":210},"options":{"reason":"角色移动"}}`
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for range b.N {
		if _, err := Parse(text, anything); err != nil {
			b.Fatal(err)
		}
	}
}
