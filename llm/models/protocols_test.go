package models

import (
	"slices"
	"strings"
	"testing"

	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/models/modelfile"
	"tavernsim/protocol"
)

// Every protocol that an endpoint may speak is a kind of model file, and has a provider. One
// without was asked in the words of another.
func TestEveryProtocolHasAProvider(t *testing.T) {
	for _, name := range llm.Protocols() {
		for _, rule := range []source.Rule{modelfile.Rules()["modelfile.Definition.kind"], endpoint.Rules()["endpoint.Definition.protocol"]} {
			if !strings.Contains(rule.Doc, "`"+name+"` (") || !slices.Contains(rule.Enum, name) {
				t.Errorf("%s: say in the Doc of kind in modelfile.Rules and of protocol in endpoint.Rules what it is: %q", name, rule.Doc)
			}
		}
	}
	for _, name := range append(llm.Protocols(), "smoke") {
		report := &source.Report{}
		if d, _ := modelfile.Read("models/m.yaml", []byte("kind: "+name+"\nmodel: m\n"), report); (d == nil) != (name == "smoke") || slices.Contains(modelfile.Kinds(), name) == (name == "smoke") {
			t.Errorf("%s: a model file of this kind is read as %v; it is a case of modelfile.Read and one of Kinds", name, d)
		}
		to, err := endpoint.New(name, endpoint.Definition{Protocol: name, BaseURL: "http://127.0.0.1", Auth: "none"}, "", func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		a, err := provider(&modelfile.Definition{Kind: name, Model: "m"}, "models/m.yaml", Options{Endpoints: map[string]*endpoint.Endpoint{name: to}}, &counts{})
		nobody := err != nil && protocol.KindOf(err) == protocol.KindInternal && strings.Contains(err.Error(), "models/m.yaml: no provider speaks "+name)
		if nobody != (name == "smoke") || err == nil && a.Provider.Name() != name {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}
