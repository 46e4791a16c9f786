package toolcall

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"tavernsim/internal/lenient"
	"tavernsim/internal/wirejson"
)

// What plain reads, lenient.Read reads as the same.
func TestPlain(t *testing.T) {
	same := func(text string) bool {
		got, ok := plain(new(wirejson.Reader), text)
		if !ok {
			return false
		}
		read, err := lenient.Read(text, lenient.Options{})
		if err != nil {
			t.Fatalf("%q is %v, and lenient says %v", text, got, err)
		}
		want, err := lenient.Plain(read.Value)
		if err != nil || !reflect.DeepEqual(any(got), want) {
			t.Fatalf("%q is %#v, and lenient reads %#v, %v", text, got, want, err)
		}
		return true
	}
	for _, text := range []string{`{}`, " {\t}\n", `{"a": 1, "b": -2.50, "c": [true, false, null, [], {}], "d": {"e": "ü"}}`, `{"": 0, "-": -0}`, `{"a":0.1}`} {
		if !same(text) {
			t.Errorf("%q is not read", text)
		}
	}
	for _, text := range []string{
		``, ` `, `1`, `[]`, `"a"`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{"a":01}`, `{"a":-}`, `{"a":.5}`, `{"a":1.}`, `{"a":1..2}`, `{"a":1e3}`, `{"a":"\\n"}`, `{"a":"\n"}`, "{\"a\":\"\xff\"}",
		`{"a":1,"a":2}`, `{"a":1} x`, "{}\x00", "{\x00}", `{"a":12345678901234567890}`, `{"a":truer}`, `{a:1}`, strings.Repeat(`{"a":`, 20) + `1` + strings.Repeat(`}`, 20),
	} {
		if got, ok := plain(new(wirejson.Reader), text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	seed := uint64(time.Now().UnixNano())
	rng, read := rand.New(rand.NewPCG(seed, 1)), 0
	pieces := []string{`{`, `}`, `[`, `]`, `,`, `:`, `"a"`, `"b"`, `"c d"`, ` `, `1`, `-0`, `2.5`, `-13`, `true`, `null`, `false`, `"`, `\`, `0`, `.`, `{"x":`, `"a":`, `"b":`, "\n"}
	for range 200_000 {
		var b strings.Builder
		b.WriteString(`{"a":`)
		for range rng.IntN(8) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		b.WriteString(`}`)
		if same(b.String()) {
			read++
		}
	}
	if read < 1000 {
		t.Errorf("seed %d: %d random texts were read; the test shows nothing", seed, read)
	}
}
