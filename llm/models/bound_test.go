package models

import (
	"reflect"
	"testing"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

// The bound of a request is that of the model which it names; of one that names none of
// the set the most of all, and a script's only if all are scripts.
func TestBound(t *testing.T) {
	file := func(name, text string) File { return File{Path: "models/" + name + ".yaml", Data: []byte(text)} }
	made := func(name string, prices price.List) *endpoint.Endpoint {
		e, err := endpoint.New(name, endpoint.Definition{Protocol: "openai", BaseURL: "http://127.0.0.1:1/v1", Auth: "none", Prices: prices}, "", func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
	dear := func(output, cost int64) llm.Bound {
		return llm.Bound{Input: 26, Output: output, Cost: cost, Priced: true, Parts: []llm.Part{{Endpoint: "dear", Tokens: 26 + output, Cost: cost, Priced: true, First: true}}}
	}
	routed := dear(500, 1_026_000)
	routed.Priced, routed.Parts = false, append(routed.Parts, llm.Part{Endpoint: "odd", Tokens: 26 + 90})
	scripts := []File{file("rules", "otherwise: Yes.\n")}
	all := append(scripts, file("big", "{kind: openai, endpoint: dear, model: b, params: {max_tokens: 500}}\n"), file("odd", "{kind: openai, endpoint: odd, model: o, params: {max_tokens: 90}}\n"),
		file("either", "{kind: route, route: [{use: big}], fallback: [{use: odd}, {use: big}, {use: rules}]}\n"))
	to := map[string]*endpoint.Endpoint{"dear": made("dear", price.List{"*": {Input: 1, Output: 2}}), "odd": made("odd", nil)}
	q := protocol.ModelRequest{Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "0123456789"}}}
	for _, c := range []struct {
		files []File
		def   string
		model string
		cap   int
		want  llm.Bound
	}{
		{all, "models/rules.yaml", "big", 0, dear(500, 26_000+1_000_000)},
		{all, "models/rules.yaml", "big", 40, dear(40, 26_000+80_000)},
		{all, "models/big.yaml", "", 0, dear(500, 26_000+1_000_000)},
		{all, "models/big.yaml", "odd", 0, llm.Bound{Input: 26, Output: 90, Parts: []llm.Part{{Endpoint: "odd", Tokens: 26 + 90, First: true}}}},
		{all, "models/rules.yaml", "either", 0, routed},
		{all, "models/rules.yaml", "any", 0, llm.Bound{Input: 26, Output: 500, Cost: 26_000 + 1_000_000}},
		{scripts, "models/rules.yaml", "any", 0, llm.Bound{Input: 7, Output: 1, Priced: true, Script: true}},
		{all, "models/big.yaml", "rules", 0, llm.Bound{Input: 7, Output: 1, Priced: true, Script: true}},
	} {
		s, err := New(Options{Files: c.files, Default: c.def, Endpoints: to})
		if err != nil {
			t.Fatal(err)
		}
		q.Model, q.Cap = c.model, c.cap
		if got := s.Bound(&q); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s of %s: %+v, want %+v", c.model, c.def, got, c.want)
		}
	}
}
