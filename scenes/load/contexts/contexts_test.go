package contexts

import (
	"maps"
	"slices"
	"testing"

	"tavernsim/llm"
	"tavernsim/llm/models/modelfile"
)

// A model has the context of its file; one that answers by others has their smallest.
func TestOf(t *testing.T) {
	files := map[string][]byte{
		"models/big.yaml":    []byte("kind: openai\nmodel: b\ncontext: 128000\n"),
		"models/small.json":  []byte(`{"kind": "anthropic", "model": "s", "context": 8192}`),
		"models/power.yaml":  []byte("kind: openai\ncontext: 3.2e4\n"),
		"models/point.json":  []byte(`{"kind": "openai", "context": 32000.0}`),
		"models/half.yaml":   []byte("kind: openai\ncontext: 1.5\n"),
		"models/huge.yaml":   []byte("kind: openai\ncontext: 1e300\n"),
		"models/open.yaml":   []byte("kind: openai\nmodel: o\n"),
		"models/rules.yaml":  []byte("otherwise: Yes.\n"),
		"models/any.yaml":    []byte("kind: route\nroute: [{when: 'true', use: big}, {use: bad}]\nfallback: [{use: rules}]\n"),
		"models/bad.yaml":    []byte("kind: faulty\nmodel: small\nfaults: {timeout: 1}\n"),
		"models/circle.yaml": []byte("kind: faulty\nmodel: circle\n"),
		"models/broken.yaml": []byte("kind: ["),
		"models/odd.yaml":    []byte("kind: openai\ncontext: lots\n"),
	}
	want := map[string]int{"power": 32000, "point": 32000, "big": 128000, "small": 8192, "any": 8192, "bad": 8192}
	if got := Of(files, "models/rules.yaml"); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	want[""] = 8192
	if got := Of(files, "models/any.yaml"); !maps.Equal(got, want) {
		t.Errorf("default any: %v", got)
	}
}

// Of every kind of model files somebody has said here how much such a model reads.
func TestEveryKindHasItsContext(t *testing.T) {
	files := map[string]string{ // by kinds that read as much as the models that they name
		modelfile.KindRoute: "route: [{use: big}]\n", modelfile.KindReplay: "model: big\n", modelfile.KindFaulty: "model: big\n", modelfile.KindSurrogate: "model: big\n",
	}
	for _, kind := range llm.Protocols() {
		files[kind] = "model: m\ncontext: 4096\n"
	}
	nothing := []string{modelfile.KindScripted, modelfile.KindEmbedder, modelfile.KindStatic} // no context, or no prompt
	for _, kind := range modelfile.Kinds() {
		fields, some := files[kind]
		if some == slices.Contains(nothing, kind) {
			t.Errorf("%s: say in read of contexts.go where such a file has its context, and here with which fields", kind)
		}
		got := Of(map[string][]byte{"models/m.yaml": []byte("kind: " + kind + "\n" + fields), "models/big.yaml": []byte("kind: openai\nmodel: b\ncontext: 4096\n")}, "")
		if want := 4096; some && got["m"] != want || !some && got["m"] != 0 {
			t.Errorf("%s: a context of %d, want %d", kind, got["m"], want)
		}
	}
}
