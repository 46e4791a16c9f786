package models

import (
	"reflect"
	"strings"
	"testing"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/price"
	"tavernsim/llm/replay"
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

// The fields of the endpoint's own are a part of the prompt, whoever gives them: their bytes are reserved, and they
// count within the context. They did not: a budget of 20,000 tokens ended at 300,000.
func TestBoundHasExtra(t *testing.T) {
	_, to := cloud(t)
	const file = "kind: openai\nendpoint: cloud\nmodel: small\ncontext: 8192\nparams: {max_tokens: 500"
	long := strings.Repeat("word ", 400)
	s := set(t, Options{Files: files("bare", file+"}\n", "file", file+", extra: {documents: ["+long+"]}}\n"), Endpoints: to})
	q, own := ask("bare"), ask("bare")
	own.Options = &protocol.ModelOptions{Extra: map[string]any{"documents": []any{long}}}
	bare := s.Bound(q).Input
	filed := ask("file")
	for name, q := range map[string]*protocol.ModelRequest{"file": filed, "node": own} {
		b := s.Bound(q)
		if more := b.Input - bare; more < int64(len(long)) || more > int64(len(long))+100 || b.Parts[0].Tokens != b.Input+b.Output {
			t.Errorf("%s: %d tokens more for %d bytes: %+v", name, more, len(long), b)
		}
		_, rate := s.Gate(q)
		_, least := s.Gate(ask("bare"))
		if more := rate - least; more < int64(len(long)/3) {
			t.Errorf("%s: %d tokens more of the rate", name, more)
		}
	}
	own.Options.Extra["documents"] = strings.Repeat("word ", 8000)
	if _, err := s.Complete(t.Context(), own, nil); llm.OutcomeOf(err) != llm.OutcomeContext {
		t.Errorf("more than the context: %v", err)
	}
}

// Of a route whose present model answers from a record nobody else is asked; where it fails by the
// record, or may fail otherwise, the fallback counts.
func TestBoundOfARecord(t *testing.T) {
	_, to := cloud(t)
	q := ask("r")
	q.Scene, q.Agent, q.Turn, q.Number = "s", "bo", 3, 1
	live := set(t, Options{Files: files("thinker", thinker), Endpoints: to})
	q.Model = "thinker"
	a, err := live.Complete(t.Context(), q, nil)
	if err != nil {
		t.Fatal(err)
	}
	answered, failed := replay.Of("s", "bo", 3, 1, &a, nil), replay.Of("s", "bo", 3, 1, &a, &llm.Failure{Outcome: llm.OutcomeTimeout, Message: "late"})
	texts := []string{"r", "{kind: route, route: [{use: again}], fallback: [{use: large}]}", "f", "{kind: route, route: [{use: poor}], fallback: [{use: large}]}", "n", "{kind: route, route: [{use: again}]}",
		"again", "{kind: replay, answers: models/recorded/market.jsonl, model: thinker}", "poor", "{kind: faulty, model: again, faults: {quota: 0.5}}",
		"thinker", thinker, "large", strings.Replace(thinker, "small", "large", 1)}
	for _, c := range []struct {
		model string
		entry *replay.Entry
		saved bool
	}{{"r", &answered, true}, {"r", &failed, false}, {"f", &answered, false}, {"n", &answered, true}, {"n", &failed, true}} {
		s := set(t, Options{Files: files(texts...), Others: []File{cassette(t, c.entry)}, Endpoints: to})
		q.Model, q.Chosen = c.model, nil
		if b := s.Bound(q); b.Saved != c.saved || (len(b.Parts) == 0) != c.saved {
			t.Errorf("%s, error %q: %+v", c.model, c.entry.Error, b)
		}
	}
}

// What an estimate takes for the longest prompt is what budgets do.
func TestBoundIsEstimated(t *testing.T) {
	e := &Estimate{}
	to := set(t, Options{Files: files("short", "kind: openai\nmodel: m\ncontext: 2048\n"), Estimate: e})
	q := ask("short")
	q.Messages[0].Text = strings.Repeat("a", 10_000)
	if _, err := to.Complete(t.Context(), q, nil); err != nil {
		t.Fatal(err)
	}
	if list := e.Played(); len(list) != 1 || list[0].MaxInput != 3072 {
		t.Errorf("%+v", list)
	}
}

// Promise 7: a replay reserves what its run reserved, also for what has no answer. What was recorded for the run already
// counts nothing, and so does a record that does not say what models cost.
func TestBoundOfAReplay(t *testing.T) {
	_, to := cloud(t)
	fallback := "kind: route\nroute: [{use: thinker}]\nfallback: [{use: other}]\n"
	all := files("thinker", thinker, "other", thinker, "either", fallback)
	live := set(t, Options{Files: all, Endpoints: to})
	for _, model := range []string{"thinker", "either"} {
		q := ask(model)
		q.Scene, q.Agent, q.Turn, q.Number = "s", "bo", 3, 1
		answer, err := live.Complete(t.Context(), ask("thinker"), nil)
		if err != nil {
			t.Fatal(err)
		}
		want, saved := live.Bound(q), llm.Bound{Priced: true, Saved: true}
		want.Recorded = true
		e := replay.Of("s", "bo", 3, 1, &answer, nil)
		before := e
		before.Origin.Saved = true
		for _, c := range []struct {
			terms *replay.Terms
			has   []*replay.Entry
			want  llm.Bound
		}{
			{&replay.Terms{Prices: live.Prices()}, []*replay.Entry{&e}, want},
			{&replay.Terms{Prices: live.Prices()}, nil, want},
			{&replay.Terms{Prices: live.Prices()}, []*replay.Entry{&before}, saved},
			{nil, []*replay.Entry{&e}, saved},
		} {
			a := &replay.Answers{Terms: c.terms}
			for _, e := range c.has {
				a.Add(e)
			}
			if got := set(t, Options{Files: all, Answers: a}).Bound(q); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s, %d recorded: %+v, want %+v", model, len(c.has), got, c.want)
			}
		}
	}
}
