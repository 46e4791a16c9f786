package models

import (
	"maps"
	"testing"

	"tavernsim/llm/models/modelfile"
	"tavernsim/protocol"
)

// Files that differ in their endpoints alone give a question one hash.
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
	if got, want := Askers(files, q, hash), map[string]string{"near": "near", "far": "far", "again": "far", "plain": "openai"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Askers(files, q, "other"); len(got) != 0 {
		t.Error(got)
	}
}
