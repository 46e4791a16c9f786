package models

import (
	"slices"
	"testing"

	"tavernsim/llm/models/modelfile"
	"tavernsim/protocol"
)

// Files that differ in their endpoints alone give a question one hash: the endpoint says which was asked.
func TestAskers(t *testing.T) {
	file := func(name, kind, rest string) File {
		return File{Path: "models/" + name + ".yaml", Data: []byte("kind: " + kind + "\nmodel: small\n" + rest)}
	}
	files := []File{
		file("near", "openai", "endpoint: near\n"), file("far", "openai", "endpoint: far\n"), file("again", "openai", "endpoint: far\n"), file("plain", "openai", ""),
		file("hot", "openai", "endpoint: far\nparams: {temperature: 1}\n"), file("broken", "openai", "endpoint: [\n"),
	}
	q := &protocol.ModelRequest{Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "who?"}}}
	made, _ := modelfile.Read(files[0].Path, files[0].Data, passing())
	def, _ := modelfile.Asks(made)
	a := askedOf(def, "")
	hash := a.question(a.filled(q))
	for endpoint, want := range map[string][]string{"near": {"near"}, "far": {"again", "far"}, "openai": {"plain"}, "gone": {"again", "far", "near", "plain"}} {
		if got := Askers(files, q, hash, endpoint); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", endpoint, got, want)
		}
	}
	if got := Askers(files, q, "other", "far"); got != nil {
		t.Error(got)
	}
}
