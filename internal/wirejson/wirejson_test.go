package wirejson

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// texts are what the fuzz targets begin with.
func texts() []string {
	return []string{
		`{"a":[1,2.5e-3,{"b":null}],"c":"d\n\"\u00e9\ud83d\ude00\ud83d"}`, `[]`, `{}`, ` [ 1 , true ] `, `"` + "\xff\u2028" + `"`, `-0.0E+1`, `01`, `1.`, `"\x"`, `"\u12g4"`, `"\u+123"`,
		`{"a":1,}`, `[1,]`, `{"a"}`, `nul`, `nulll`, `"a` + "\x01" + `"`, `{"a":1}{}`, ``, ` `, `"\ud800\u0041"`, `"\ud800\ud800\udc00"`, `"\"`, `"abc`, `[`, `{"`, `"\u00e`,
	}
}

// What is accepted, and what a text or a value means, is as with encoding/json.
func FuzzRead(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var raw []byte
		err := Read(data, func(r *Reader) { raw = r.Raw() })
		if (err == nil) != json.Valid(data) {
			t.Fatalf("%q: %v, but valid is %v", data, err, json.Valid(data))
		}
		if want := bytes.Trim(data, " \t\r\n"); err == nil && !bytes.Equal(raw, want) {
			t.Fatalf("%q has the value %q", data, raw)
		}
		var v any
		err = Read(data, func(r *Reader) { v = r.value() })
		var want any
		if wrong := json.Unmarshal(data, &want); (err == nil) != (wrong == nil) {
			t.Fatalf("%q: %v, want %v", data, err, wrong)
		}
		got, _ := json.Marshal(v)
		if text, _ := json.Marshal(want); err == nil && !bytes.Equal(got, text) {
			t.Fatalf("%q is %s, want %s", data, got, text)
		}
	})
}

// value reads any value as encoding/json does.
func (r *Reader) value() (v any) {
	switch {
	case r.Is('{'):
		m := map[string]any{}
		r.Object(func(name []byte) {
			name = bytes.Clone(name)
			m[string(name)] = r.value()
		})
		return m
	case r.Is('['):
		l := []any{}
		r.Array(func() { l = append(l, r.value()) })
		return l
	case r.Is('"'):
		return r.Text()
	}
	if b := r.Raw(); json.Unmarshal(b, &v) != nil && r.err == nil {
		r.Fail("no float") // a number that is too large
	}
	return v
}

// What is written is what encoding/json writes.
func FuzzAppend(f *testing.F) {
	for _, text := range append(texts(), "\b\f\n\r\t\x00\x1f\x7f<>&\u2028\u2029\ufffd\\\"", "\xed\xa0\x80") {
		f.Add(text, 0.1)
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 1e-6, 9e-7, 1e21, 1e20, -1.5, math.MaxFloat64, math.Inf(1), math.NaN()} {
		f.Add("", x)
	}
	f.Fuzz(func(t *testing.T, text string, x float64) {
		want, err := AppendAny(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendText([]byte("x"), text); string(got) != "x"+string(want) {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
		want, bad := AppendAny([]byte("x"), x)
		if got, err := AppendFloat([]byte("x"), x); !bytes.Equal(got, want) || (err == nil) != (bad == nil) {
			t.Errorf("%v is %s (%v), want %s (%v)", x, got, err, want, bad)
		}
	})
}

// A caller takes what it wants and leaves the rest; another type than it wants is an
// error, which says where.
func TestFields(t *testing.T) {
	type fields struct {
		name, kind string
		n          int
		list       []string
	}
	read := func(text string) (f fields, err error) {
		err = Read([]byte(text), func(r *Reader) {
			r.Object(func(name []byte) {
				switch string(name) {
				case "name":
					f.name = r.Text()
				case "kind":
					f.kind = r.Text("known")
				case "n":
					f.n = r.Int()
				case "list":
					r.Array(func() { f.list = append(f.list, r.Text()) })
				}
			})
		})
		return f, err
	}
	f, err := read(`{"other": [{"name": "x"}], "n\u0061me": "a\"b", "kind": "known", "n": -7, "list": ["x", null]}`)
	if err != nil || f.name != `a"b` || f.kind != "known" || f.n != -7 || len(f.list) != 2 || f.list[0] != "x" {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err = read(`{"name": null, "list": null, "n": null}`); err != nil || f.name != "" || f.list != nil {
		t.Errorf("%+v, %v", f, err)
	}
	for text, want := range map[string]string{
		`{"name": 7}`: "want a text at byte 9", `{"n": "7"}`: "want an integer", `{"n": 7.5}`: "want an integer", `{"list": {}}`: "want [ at byte 9", `[]`: "want { at byte 0",
		`{"name": "a"`: "breaks off", `{"name": "a" 1}`: "want a comma or }", `{1: 2}`: "want a name", `{"a" 1}`: "want a colon", `{} {}`: "more after the value at byte 3",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// What nothing depends on is a text, or empty.
func TestTextOrSkip(t *testing.T) {
	for text, want := range map[string]string{`["a"]`: "a", `["known"]`: "known", `[null]`: "", `[7]`: "", `[{"a":["b"]}]`: "", `[true]`: ""} {
		got := "none"
		if err := Read([]byte(text), func(r *Reader) { r.Array(func() { got = r.TextOrSkip("known") }) }); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	if err := Read([]byte(`nothing`), func(r *Reader) { r.TextOrSkip() }); err == nil {
		t.Error("no JSON is read")
	}
}

// A text of many levels ends with an error, not with the stack.
func TestDeep(t *testing.T) {
	for n, ok := range map[int]bool{maxDepth: true, maxDepth + 1: false, 1_000_000: false} {
		text := []byte(strings.Repeat("[", n) + strings.Repeat("]", n))
		if err := Read(text, (*Reader).Skip); (err == nil) != ok || json.Valid(text) != ok {
			t.Errorf("%d levels: %v", n, err)
		}
	}
}

// An answer that is read costs the texts that are kept.
func TestAllocations(t *testing.T) {
	data := []byte(`{"id":"chatcmpl-1","model":"m","usage":{"prompt_tokens":7},"choices":[{"finish_reason":"stop"}]}`)
	got := testing.AllocsPerRun(100, func() {
		_ = Read(data, func(r *Reader) {
			r.Object(func(name []byte) {
				if string(name) == "model" {
					r.Text("m")
				}
			})
		})
	})
	if got > 1 { // the reader
		t.Errorf("%v allocations", got)
	}
}
