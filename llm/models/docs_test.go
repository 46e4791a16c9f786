package models

import (
	"flag"
	"maps"
	"reflect"
	"strings"
	"testing"

	"tavernsim/engine/budget"
	"tavernsim/internal/doctest"
	"tavernsim/internal/source"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/faulty"
	"tavernsim/llm/models/modelfile"
	"tavernsim/llm/price"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/formats/providers.md")

// The tables of the page are what is read.
// go test ./llm/models -run Docs -update rewrites them.
func TestDocsTables(t *testing.T) {
	rules := modelfile.Rules()
	maps.Copy(rules, endpoint.Rules())
	types := []reflect.Type{
		reflect.TypeFor[modelfile.Definition](), reflect.TypeFor[modelfile.Params](), reflect.TypeFor[modelfile.Latency](),
		reflect.TypeFor[modelfile.Route](), reflect.TypeFor[modelfile.Choice](), reflect.TypeFor[modelfile.Fallback](), reflect.TypeFor[modelfile.Replay](), reflect.TypeFor[modelfile.Faulty](), reflect.TypeFor[modelfile.Surrogate](), reflect.TypeFor[modelfile.Embedder](), reflect.TypeFor[modelfile.Static](), reflect.TypeFor[faulty.Faults](),
		reflect.TypeFor[endpoint.File](), reflect.TypeFor[endpoint.Definition](), reflect.TypeFor[endpoint.Timeouts](), reflect.TypeFor[endpoint.Limits](), reflect.TypeFor[endpoint.Dialect](), reflect.TypeFor[price.Rate](), reflect.TypeFor[price.Long](), reflect.TypeFor[budget.Budget](),
	}
	doctest.Tables{Dir: "../../docs/formats", Pages: map[string]string{"modelfile": "providers.md", "endpoint": "providers.md", "price": "providers.md", "budget": "providers.md", "faulty": "providers.md"}, Types: types, Rules: rules}.Check(t, *update)
	doctest.Zeros(t, types, rules, "modelfile.Latency.first_token", "modelfile.Latency.per_token") // two of them are refused
	for _, typ := range types {
		for _, f := range source.Fields(typ) {
			if rules[typ.String()+"."+f.Name].Doc == "" {
				t.Errorf("%s.%s has no rule with a sentence", typ, f.Name)
			}
			delete(rules, typ.String()+"."+f.Name)
		}
	}
	for key := range rules {
		t.Errorf("the rule %s has no field", key)
	}
}

// The examples of the page are read without a fault, and every preset is on it.
func TestDocsExamples(t *testing.T) {
	for _, text := range doctest.Examples(t, "formats/providers.md", "model") {
		report := &source.Report{}
		if !Read("thinker.yaml", []byte(text), report) {
			t.Error(report.Err())
		}
	}
	for _, text := range doctest.Examples(t, "formats/providers.md", "providers") {
		if _, err := endpoint.Read("providers.yaml", []byte(text)); err != nil {
			t.Error(err)
		}
	}
	page := doctest.Page(t, "formats/providers.md")
	for name, d := range endpoint.Presets() {
		if !strings.Contains(page, "| `"+name+"` | "+d.Protocol+" | ") || !strings.Contains(page, d.BaseURL) || !strings.Contains(page, d.KeyEnv) {
			t.Errorf("the page lacks the preset %s, or has it otherwise", name)
		}
	}
}
