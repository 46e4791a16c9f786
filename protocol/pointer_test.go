package protocol_test

import (
	"slices"
	"testing"

	"tavernsim/protocol"
)

func TestPointer(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "/": nil, "a": nil, "/a": {"a"}, "/a/b": {"a", "b"}, "/a//b": {"a", "", "b"}, "/a~1b/~0": {"a/b", "~"}, "/~01": {"~1"},
	} {
		if got := protocol.Pointer(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
