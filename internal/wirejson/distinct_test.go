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
