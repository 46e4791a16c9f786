package sound

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/tools/child"
)

// What a server may send fits the bounds of the library also with its value as a text.
func TestReadableIsBounded(t *testing.T) {
	text := `{"id":1,"result":{"structuredContent":[` + strings.Repeat(`"",`, (child.MaxMessage-100)/3) + `""]}}`
	if got, err := Mend([]byte(text)); err != nil || len(got) <= child.MaxMessage || len(got) > 2*child.MaxMessage {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// Promises 1 and 2, in one walk: the id may stand behind the result that has a name twice, and what cannot be
// answered breaks the protocol.
func TestMend(t *testing.T) {
	const twice = `the name \"a\" stands twice in an object, the second time at byte `
	for _, c := range []struct{ text, want, err string }{
		{`{"id":1,"result":{"a":1}}`, `{"id":1,"result":{"a":1}}`, "<nil>"},
		{`{"result":{"a":1,"a":2},"id":"x"}`, `{"jsonrpc":"2.0","id":"x","error":{"code":-32099,"message":"` + twice + `21"}}`, "<nil>"},
		{`{"id":1,"result":[{"b":[{"a":1,"a":2}]}]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"` + twice + `35"}}`, "<nil>"},
		{`{"id":1,"result":{},"_meta":{"a":1,"a":2}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"` + twice + `39"}}`, "<nil>"},
		{`{"id":1,"result":[]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"it is no object"}}`, "<nil>"},
		{`{"id":1,"error":{"a":1,"a":2}}`, `{"id":1,"error":{"a":1,"a":2}}`, `the name "a" stands twice in an object, the second time at byte 27`},
		{`[{"a":1,"a":2}]`, `[{"a":1,"a":2}]`, `the name "a" stands twice in an object, the second time at byte 12`},
		{`{"id":1,"id":2,"result":{}}`, "", `the name "id" stands twice in an object, the second time at byte 13`},
		{`{"id":1,"result":{"a":1`, "", "the text breaks off at byte 23"},
	} {
		got, err := Mend([]byte(c.text))
		if string(got) != c.want || fmt.Sprint(err) != c.err {
			t.Errorf("%s:\n%s, %v; want\n%s, %s", c.text, got, err, c.want, c.err)
		}
	}
}

// Promise 3: a list of tools says in its _meta what the library does not know of it.
func TestLists(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"id":1,"result":{"tools":[{"name":"a","execution":{"taskSupport":"required"}},{"name":"b","execution":{"taskSupport":"optional"}}],"ttlMs":5}}`,
			`{"id":1,"result":{"_meta":{"simd/ttl-ms":5},"tools":[{"_meta":{"simd/task-only":true},"execution":{"taskSupport":"required"},"name":"a"},{"execution":{"taskSupport":"optional"},"name":"b"}]}}`},
		{`{"id":1,"result":{"tools":[{"name":"a"}],"_meta":{"x":1},"ttlMs":12345678901234567890}}`,
			`{"id":1,"result":{"_meta":{"simd/ttl-ms":12345678901234567890,"x":1},"tools":[{"name":"a"}]}}`},
	} {
		if got, err := Mend([]byte(c.text)); err != nil || string(got) != c.want {
			t.Errorf("%s:\n%s, %v; want\n%s", c.text, got, err, c.want)
		}
	}
}
