package contexts

import (
	"maps"
	"testing"
)

// A model has the context of its file; one that answers by others has their smallest.
func TestOf(t *testing.T) {
	files := map[string][]byte{
		"models/big.yaml":    []byte("kind: openai\nmodel: b\ncontext: 128000\n"),
		"models/small.json":  []byte(`{"kind": "anthropic", "model": "s", "context": 8192}`),
		"models/open.yaml":   []byte("kind: openai\nmodel: o\n"),
		"models/rules.yaml":  []byte("otherwise: Yes.\n"),
		"models/any.yaml":    []byte("kind: route\nroute: [{when: 'true', use: big}, {use: bad}]\nfallback: [{use: rules}]\n"),
		"models/bad.yaml":    []byte("kind: faulty\nmodel: small\nfaults: {timeout: 1}\n"),
		"models/circle.yaml": []byte("kind: faulty\nmodel: circle\n"),
		"models/broken.yaml": []byte("kind: ["),
		"models/odd.yaml":    []byte("kind: openai\ncontext: lots\n"),
	}
	want := map[string]int{"big": 128000, "small": 8192, "any": 8192, "bad": 8192}
	if got := Of(files, "models/rules.yaml"); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	want[""] = 8192
	if got := Of(files, "models/any.yaml"); !maps.Equal(got, want) {
		t.Errorf("default any: %v", got)
	}
}
