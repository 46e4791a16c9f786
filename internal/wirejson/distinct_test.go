package wirejson

import (
	"fmt"
	"strings"
	"testing"
)

func TestDistinct(t *testing.T) {
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, `"n%d":%d,`, i, i)
	}
	for _, c := range []struct{ text, want string }{
		{`null`, ""},
		{`{"a":{"a":1},"b":[{"a":1},{"a":2}]}`, ""},
		{`{` + many.String() + `"x":1}`, ""},
		{`{"a":1,"a":2}`, `"a" stands twice`},
		{`{"b":[1,{"a":1,"\u0061":2}]}`, `"a" stands twice`},
		{`{` + many.String() + `"n3":1}`, `"n3" stands twice`},
		{`{` + many.String() + `"n39":1}`, `"n39" stands twice`},
		{`{"a":1} {"a":1}`, "more after the value"},
		{`{"a":1`, "breaks off"},
		{strings.Repeat("[", 20_000), "levels"},
	} {
		err := Distinct([]byte(c.text))
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%.60s: %s, want %s", c.text, got, c.want)
		}
	}
}

// A name that stands twice does not end the reading: what stands behind it is read, and what is wrong there is told.
func TestDoubled(t *testing.T) {
	for _, c := range []struct{ text, raw, want, err string }{
		{`[{"a":1,"b":[{"a":2}]}]`, "", "<nil>", "<nil>"},
		{`{"x": {"a":1,"a":{"b":1,"b":2}} ,"y":3}`, "", `the name "a" stands twice in an object, the second time at byte 17`, "<nil>"},
		{` {"x":[{"b":1,"b":2},{"a":1,"a":2}]} `, `{"x":[{"b":1,"b":2},{"a":1,"a":2}]}`, `the name "b" stands twice in an object, the second time at byte 18`, "<nil>"},
		{`{"a":1,"a":2,}`, "", "<nil>", "want a name at byte 13"},
		{`7`, "", "<nil>", "<nil>"},
	} {
		var raw []byte
		var twice error
		err := Read([]byte(c.text), func(r *Reader) { raw, twice = r.Doubled() })
		if c.raw == "" && err == nil {
			c.raw = c.text
		}
		if string(raw) != c.raw || fmt.Sprint(twice) != c.want || fmt.Sprint(err) != c.err {
			t.Errorf("%s: %q, %v, %v; want %q, %s, %s", c.text, raw, twice, err, c.raw, c.want, c.err)
		}
	}
}

func BenchmarkDistinct(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 200) + `"}],"structuredContent":{"said":"x","key":"k"}}}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Distinct(text); err != nil {
			b.Fatal(err)
		}
	}
}
