package contexts

import (
	"maps"
	"slices"
	"testing"

	"tavernsim/engine/workflow"
	"tavernsim/llm"
	"tavernsim/llm/models/modelfile"
)

// A model that answers by others has the room that leaves least for a question, and asks for
// the answer that its own file says, or the default if only others say one.
func TestOfAnswers(t *testing.T) {
	if defaultAnswer != modelfile.DefaultMaxTokens {
		t.Errorf("an answer of %d tokens, and models send %d", defaultAnswer, modelfile.DefaultMaxTokens)
	}
	files := map[string][]byte{
		"models/long.yaml":  []byte("kind: openai\ncontext: 128000\nparams: {max_tokens: 16000}\n"),
		"models/full.yaml":  []byte("kind: openai\ncontext: 32000\nparams: {max_tokens: 24000}\n"),
		"models/short.yaml": []byte("kind: openai\ncontext: 8192\n"),
		"models/open.yaml":  []byte("kind: openai\nparams: {max_tokens: 50}\n"),
		"models/wide.yaml":  []byte("kind: openai\nparams: {max_tokens: 500}\n"),
		"models/a.yaml":     []byte("kind: route\nroute: [{use: long}, {use: short}]\n"),
		"models/b.yaml":     []byte("kind: route\nroute: [{use: long}, {use: full}]\nfallback: [{use: wide}]\n"),
		"models/d.yaml":     []byte("kind: route\nroute: [{use: short}]\nfallback: [{use: big}]\n"),
		"models/e.yaml":     []byte("kind: faulty\nmodel: long\n"),
		"models/mute.yaml":  []byte("kind: openai\n"),
		"models/f.yaml":     []byte("kind: route\nroute: [{use: open}, {use: mute}]\n"),
		"models/big.yaml":   []byte("kind: openai\ncontext: 128000\n"),
		"models/c.yaml":     []byte("kind: route\nroute: [{use: open}, {use: wide}]\n"),
	}
	files["models/own.yaml"] = []byte("kind: openai\nparams: {extra: {top_k: 40}}\n")
	files["models/g.yaml"] = []byte("kind: route\nroute: [{use: own}, {use: short}]\n")
	got := Of(files, "models/a.yaml")
	for name, want := range map[string]workflow.Room{
		"long": {Context: 128000, Answer: 16000}, "open": {Answer: 50}, "short": {Context: 8192},
		"a": {Context: 8192, Answer: 1024, Differs: true}, "": {Context: 8192, Answer: 1024, Differs: true}, "b": {Context: 32000, Answer: 24000, Differs: true}, "c": {Answer: 500, Differs: true}, "f": {Answer: 1024, Differs: true}, "d": {Context: 8192}, "own": {Extra: 39}, "g": {Context: 8192, Extra: 39}, "e": {Context: 128000, Answer: 16000},
	} {
		if got[name] != want {
			t.Errorf("%q: %v, want %v", name, got[name], want)
		}
	}
}

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
	want := map[string]workflow.Room{"power": {Context: 32000}, "point": {Context: 32000}, "big": {Context: 128000}, "small": {Context: 8192}, "any": {Context: 8192}, "bad": {Context: 8192}}
	if got := Of(files, "models/rules.yaml"); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	want[""] = workflow.Room{Context: 8192}
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
		if want := (workflow.Room{Context: 4096}); some && got["m"] != want || !some && got["m"] != (workflow.Room{}) {
			t.Errorf("%s: a room of %v, want %v", kind, got["m"], want)
		}
	}
}
