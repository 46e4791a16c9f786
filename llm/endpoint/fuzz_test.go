package endpoint

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// Whatever a server sends is events or a failure, in whatever parts it arrives, and a
// problem that is found says something.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{
		"data: a\n\ndata: [DONE]\n\n", ": c\r\nevent: x\r\ndata: 1\r\ndata: 2\r\n\r\n", "data", "data:\n\n", "\n\n\n", "event: x\n\ndata: \u4f60\n\n", "data: cut",
		`{"error":{"message":"m","code":1}}`, `{"error":"x"}`, `[{"error":{"type":"t"}}]`, `{"detail":[1]}`, `{"message":""}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, one := events(t, strings.NewReader(text)), events(t, iotest.OneByteReader(strings.NewReader(text)))
		if !slices.Equal(all, one) {
			t.Errorf("at once %q, byte by byte %q", all, one)
		}
		size := 0
		for _, e := range all {
			size += len(e)
		}
		if size > len(text) {
			t.Errorf("%q has more than %q", all, text)
		}
		if p, ok := ReadProblem([]byte(text)); ok == (p == Problem{}) {
			t.Errorf("%+v is a problem: %v", p, ok)
		}
	})
}

func events(t *testing.T, r io.Reader) (list []string) {
	e := &Endpoint{Name: "cloud", Definition: shortly()}
	reply := &Reply{endpoint: e, body: io.NopCloser(r), watch: newWatch(context.Background(), e, Ask{})}
	defer reply.Close()
	for e, err := range reply.Events() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.Type+string(e.Data))
	}
	return list
}
