package models

import (
	"reflect"
	"testing"

	"tavernsim/llm"
	"tavernsim/llm/models/modelfile"
	"tavernsim/llm/price"
	"tavernsim/llm/replay"
	"tavernsim/llm/store"
	"tavernsim/protocol"
)

// What a request may take of an endpoint is the most of all that it may come to there; it has a price if all have one, and is asked first if one is.
func TestPartsOfARequest(t *testing.T) {
	for name, c := range map[string]struct{ a, b, want llm.Part }{
		"the first is larger":  {llm.Part{Endpoint: "e", Tokens: 5, Cost: 1, Priced: true, First: true}, llm.Part{Endpoint: "e", Tokens: 3, Cost: 9, Priced: true}, llm.Part{Endpoint: "e", Tokens: 5, Cost: 9, Priced: true, First: true}},
		"the second is larger": {llm.Part{Endpoint: "e", Tokens: 3, Cost: 9}, llm.Part{Endpoint: "e", Tokens: 5, Cost: 1, Priced: true, First: true}, llm.Part{Endpoint: "e", Tokens: 5, Cost: 9, First: true}},
		"neither is first":     {llm.Part{Endpoint: "e", Priced: true}, llm.Part{Endpoint: "e"}, llm.Part{Endpoint: "e"}},
	} {
		other := llm.Part{Endpoint: "o", Tokens: 7}
		if got := withPart([]llm.Part{other, c.a}, c.b); !reflect.DeepEqual(got, []llm.Part{other, c.want}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := withPart(nil, llm.Part{Endpoint: "e"}); len(got) != 1 {
		t.Error(got)
	}
}

// A surrogate's decision fits a request that has its tools and takes its form. In an audit it agrees with the model by its calls; without
// any by a text that is near.
func TestWhatASurrogateSays(t *testing.T) {
	call := func(tool, params string) replay.Call {
		return replay.Call{Tool: tool, Params: map[string]any{"to": params}}
	}
	for name, c := range map[string]struct {
		e    replay.Entry
		json bool
		want bool
	}{
		"no calls":      {replay.Entry{Text: "hm"}, false, true},
		"its tools":     {replay.Entry{Calls: []replay.Call{call("a", ""), call("b", "")}}, false, true},
		"another tool":  {replay.Entry{Calls: []replay.Call{call("a", ""), call("c", "")}}, false, false},
		"no JSON":       {replay.Entry{Text: "hm"}, true, false},
		"it is of JSON": {replay.Entry{Text: "{}"}, true, true},
	} {
		if got := fits(&c.e, &protocol.ModelRequest{JSON: c.json, Tools: []protocol.ToolSpec{{Name: "a"}, {Name: "b"}}}); got != c.want {
			t.Errorf("%s: it fits: %t", name, got)
		}
	}
	said := func(calls ...protocol.Call) *protocol.ModelAnswer {
		return &protocol.ModelAnswer{Text: "far away", Calls: calls}
	}
	go1 := protocol.Call{Tool: "a", Params: map[string]any{"to": "x"}}
	for name, c := range map[string]struct {
		e    replay.Entry
		a    *protocol.ModelAnswer
		want bool
	}{
		"the same call":    {replay.Entry{Text: "other", Calls: []replay.Call{call("a", "x")}}, said(go1), true},
		"another tool":     {replay.Entry{Calls: []replay.Call{call("b", "x")}}, said(go1), false},
		"other parameters": {replay.Entry{Calls: []replay.Call{call("a", "y")}}, said(go1), false},
		"it is broken":     {replay.Entry{Calls: []replay.Call{{Tool: "a", Params: map[string]any{"to": "x"}, Broken: "no"}}}, said(go1), false},
		"one more":         {replay.Entry{Calls: []replay.Call{call("a", "x"), call("a", "x")}}, said(go1), false},
		"the same text":    {replay.Entry{Text: "far away"}, said(), true},
		"another text":     {replay.Entry{Text: "something else entirely"}, said(), false},
	} {
		if got := (&likeness{}).agrees(&c.e, c.a); got != c.want {
			t.Errorf("%s: it agrees: %t", name, got)
		}
	}
}

// Counted are the questions that nobody was asked, with the earliest of them; and what answers cost, apart from what recorded ones had cost.
func TestCountsOfAnswers(t *testing.T) {
	s := &Set{}
	at := func(turn uint64, agent string, request int64) replay.Place {
		return replay.Place{Agent: agent, Turn: turn, Request: request}
	}
	for _, c := range []struct{ miss, first replay.Place }{
		{at(3, "bo", 2), at(3, "bo", 2)}, {at(4, "ada", 1), at(3, "bo", 2)}, {at(3, "cy", 1), at(3, "bo", 2)}, {at(3, "bo", 1), at(3, "bo", 1)}, {at(3, "ada", 9), at(3, "ada", 9)}, {at(2, "di", 9), at(2, "di", 9)},
	} {
		if s.counts.miss(c.miss); s.Counts().First != c.first {
			t.Errorf("the first is %+v, want %+v", s.Counts().First, c.first)
		}
	}
	for _, o := range []protocol.ModelOrigin{{Cost: 1, Priced: true}, {Cost: 2}, {Cost: 4, Reused: true}, {Cost: 8, Reused: true, Priced: true}} {
		s.counts.answered(&o)
	}
	s.Shared(&protocol.ModelAnswer{Origin: &protocol.ModelOrigin{Cost: 16}})
	if got := s.Counts(); got.Missed != 6 || got.Paid != 3 || got.Saved != 28 || got.Unpriced != 1 || got.Shared != 1 {
		t.Errorf("%+v", got)
	}
}

// The store is asked about what an endpoint answers at temperature 0.
func TestWhatTheStoreIsAsked(t *testing.T) {
	zero, warm := 0.0, 0.1
	for name, c := range map[string]struct {
		a    *asked
		t    *float64
		want bool
	}{
		"at temperature 0": {&asked{keeps: &keeping{Store: &store.Store{}}, Provider: named{"e"}}, &zero, true},
		"warmer":           {&asked{keeps: &keeping{Store: &store.Store{}}, Provider: named{"e"}}, &warm, false},
		"not said":         {&asked{keeps: &keeping{Store: &store.Store{}}, Provider: named{"e"}}, nil, false},
		"no store":         {&asked{keeps: &keeping{}, Provider: named{"e"}}, &zero, false},
		"no endpoint":      {&asked{keeps: &keeping{Store: &store.Store{}}}, &zero, false},
		"a plugin answers": {&asked{keeps: &keeping{Store: &store.Store{}}, Provider: named{"e"}, instead: true}, &zero, false},
	} {
		c.a.Definition = &modelfile.Definition{Kind: llm.OpenAI}
		if _, got := c.a.asksStore("q", &protocol.ModelRequest{Temperature: c.t}); got != c.want {
			t.Errorf("%s: it is asked: %t", name, got)
		}
	}
}

// A replay needs the prices of models at endpoints, of those that are not known, too; where nobody says, none.
func TestPricesOfASet(t *testing.T) {
	p := price.Price{}
	s := &Set{models: map[string]llm.Provider{"priced": &asked{Provider: named{"e"}, priced: true, price: p}, "not": &asked{Provider: named{"e"}}, "recorded": &asked{}, "replayed": &asked{replays: true, priced: true}, "script": named{"s"}}}
	got := s.Prices()
	if not, has := got["not"]; len(got) != 3 || got["priced"] == nil || not != nil || !has || got["replayed"] == nil {
		t.Errorf("%+v", got)
	}
	if (&Set{}).Prices() != nil {
		t.Error("of no models")
	}
}
