package child

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Promise 4.
func TestLines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\"id\":1}\r\n\n  {\"id\":2}\n", "{\"id\":1}\n{\"id\":2}\n<nil>"},
		{"{\"id\":1,\"result\":{\"a\":1,\"a\":2}}\n", "{\"id\":1,\"result\":{\"a\":1,\"a\":2}}\n<nil>"}, // of whoever reads it
		{"[{\"id\":1}]\n", "[{\"id\":1}]\n<nil>"},
		{"{\"id\":1,\"\\u0069d\":2}\n", `the name "id" stands twice in an object, the second time at byte 18`},
		{"{\"id\":\n1}\n", "the text breaks off at byte 6"},
		{"{\"id\":1}\n{\"id", "{\"id\":1}\n<nil>"},
		{"{\"id\":1}\n{\"id\":2}", "{\"id\":1}\n{\"id\":2}\n<nil>"},
		{strings.Repeat("x", 200), "a message exceeded 100 bytes"},
	} {
		b, err := io.ReadAll(NewLines(io.NopCloser(strings.NewReader(c.text)), 100, nil))
		if got := string(b) + fmt.Sprint(err); got != c.want {
			t.Errorf("%.40q: %q, want %q", c.text, got, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{`{"a":"` + strings.Repeat("x", 200) + `\"}","id":"7","result":{"id":[3]}}` + "\n{}\n", "\"7\" true 241\n{}\n<nil>"},
		{`{"id":-5,"params":[` + strings.Repeat("1,", 60) + `1],"method":"x"}` + "\n{}\n", "-5 false 156\n{}\n<nil>"},
		{`{"id":5,"a":"` + strings.Repeat("x", 900) + `"}` + "\n{}\n", "a message exceeded 100 bytes"}, // eight times
		{`{"id":5,"a":"` + strings.Repeat("x", 200) + `"}`, "a message exceeded 100 bytes"},
		{`{"id":5,"a":"` + strings.Repeat("x", 200) + "\n{}\n", "a message exceeded 100 bytes"},
		{`{"id":5,"id":6,"a":"` + strings.Repeat("x", 200) + `"}` + "\n", "a message exceeded 100 bytes"},
		{`{"id":[5],"a":"` + strings.Repeat("x", 200) + `"}` + "\n", "a message exceeded 100 bytes"},
		{`{"id":` + strings.Repeat("5", 2000) + "}\n", "a message exceeded 100 bytes"},
		{`[{"id":5,"a":"` + strings.Repeat("x", 200) + `"}]` + "\n", "a message exceeded 100 bytes"},
		{`{"a":{"id":5},"b":"` + strings.Repeat("x", 200) + `"}` + "\n", "a message exceeded 100 bytes"},
	} {
		l := NewLines(io.NopCloser(strings.NewReader(c.text)), 100, func(line []byte) ([]byte, error) { return line, nil })
		l.Instead = func(m *Long) ([]byte, error) { return fmt.Appendf(nil, "%s %v %d", m.ID, m.Answer, m.Bytes), nil }
		b, err := io.ReadAll(l)
		if got := string(b) + fmt.Sprint(err); got != c.want {
			t.Errorf("%.40q: %q, want %q", c.text, got, c.want)
		}
	}
	left := NewLines(io.NopCloser(strings.NewReader("{}\n7\n[]\n7")), 100, func(line []byte) ([]byte, error) { return bytes.Trim(line, "7"), nil })
	if b, err := io.ReadAll(left); string(b) != "{}\n[]\n" || err != nil {
		t.Errorf("%q %v, want the lines without those of which nothing is left", b, err)
	}
}
