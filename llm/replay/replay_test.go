package replay

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/internal/doctest"
	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

func question(n int) string { return llm.Hash([]byte{byte(n)}) }

func entry(agent string, turn uint64, q int, text string) *Entry {
	return &Entry{Scene: "s", Agent: agent, Turn: turn, Request: 1, Question: question(q), Text: text, Finish: protocol.FinishStop}
}

// Promise 1: what was written is read equal.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := protocol.ModelAnswer{
			Model: rapid.String().Draw(t, "model"), Text: rapid.String().Draw(t, "text"), Reasoning: rapid.String().Draw(t, "reasoning"), Finish: protocol.FinishToolCalls,
			Calls: []protocol.Call{
				{ID: "1", Tool: "SayTool", Params: map[string]any{"n": rapid.Int64().Draw(t, "n"), "f": 0.5, "list": []any{"x", nil, true}}, Origin: protocol.OriginNative},
				{ID: "2", Tool: "SayTool", Broken: "{", Origin: protocol.OriginNative},
			},
			Usage: protocol.Usage{Input: rapid.Int64Min(0).Draw(t, "in"), Output: 2, CacheRead: 3, Reasoning: 4, CacheWrite: 5, Estimated: rapid.Bool().Draw(t, "estimated")},
			Origin: &protocol.ModelOrigin{Endpoint: "cloud", ID: "x", Fingerprint: "f", Question: question(1), Attempts: 2, Refused: rapid.String().Draw(t, "refused"),
				Served: (&llm.Served{Model: "big", By: llm.ByLLM, Distance: 9, Audit: llm.Differed, Steps: []llm.Step{{Model: "small", Entry: 1}, {Model: "big", Entry: 2, After: "timeout"}}}).Raw()},
		}
		if a.Origin.Priced = rapid.Bool().Draw(t, "priced"); a.Origin.Priced {
			a.Origin.Cost = rapid.Int64Min(0).Draw(t, "cost")
		}
		if lost := rapid.Int64Min(0).Draw(t, "lost"); lost > 0 {
			a.Origin.Budget = &protocol.ModelBudget{Lost: lost, LostNano: 7}
		}
		a.Latency = 1500 // milliseconds and less come back
		var failed error
		if rapid.Bool().Draw(t, "fails") {
			failed = protocol.Errorf(protocol.KindTimeout, "cloud: no answer in time")
		}
		e := Of("s", "a", 3, 2, &a, failed)
		var b bytes.Buffer
		if err := Write(&b, &e); err != nil {
			t.Fatal(err)
		}
		read, err := Read("x", &b)
		if err != nil || read.Len() != 1 {
			t.Fatalf("%v", err)
		}
		got, ok := read.Find(question(1), Place{"s", "a", 3, 2}, false)
		if !ok {
			t.Fatal("not found")
		}
		back, broke := got.Answer()
		if !reflect.DeepEqual(back, a) || protocol.KindOf(broke) != protocol.KindOf(failed) {
			t.Fatalf("%+v\nbecame\n%+v, %v", a, back, broke)
		}
	})
}

// Promises 2 and 3: which answer a question gets.
func TestFind(t *testing.T) {
	a := &Answers{}
	failure := entry("a", 9, 1, "")
	failure.Error = "no"
	for _, e := range []*Entry{entry("b", 1, 1, "b1"), entry("a", 2, 1, "a2"), entry("a", 5, 1, "a5"), entry("a", 7, 1, "a7"), failure} {
		a.Add(e)
	}
	for _, c := range []struct {
		agent string
		turn  uint64
		any   bool
		want  string
	}{
		{"a", 5, false, "a5"}, {"a", 3, false, "a5"}, {"a", 6, false, "a7"}, {"a", 8, false, "a7"}, {"a", 1, false, "a2"},
		{"c", 1, true, "b1"}, {"c", 1, false, "none"}, {"a", 9, false, ""},
	} {
		e, ok := a.Find(question(1), Place{"s", c.agent, c.turn, 1}, c.any)
		if got := "none"; ok {
			got = e.Text
			if got != c.want || (c.turn == 9) != (e.Error != "") {
				t.Errorf("%+v: %q", c, got)
			}
		} else if c.want != got {
			t.Errorf("%+v: none", c)
		}
	}
	if _, ok := a.Find(question(2), Place{"s", "a", 2, 1}, true); ok {
		t.Error("another question was answered")
	}
}

// Promise 4: what was recorded nearest to a question without an answer, and how it differs.
func TestMissed(t *testing.T) {
	a := &Answers{}
	said := func(turn uint64, request int64, situation string) {
		e := entry("a", turn, int(turn), "")
		e.Request, e.Situation = request, situation
		a.Add(e)
	}
	said(2, 1, "It is noon.\nYou have 3 coins.\n")
	said(2, 2, "It is noon.\nYou have 3 coins.\nWell?\n")
	said(7, 1, "")
	for _, c := range []struct {
		agent     string
		turn      uint64
		request   int64
		situation string
		want      string
	}{
		{"a", 2, 1, "It is noon.\nYou have 4 coins.\n", `request 1 of turn 2, to another question, whose messages differ first in line 2, character 10: recorded "You have 3 coins.", asked "You have 4 coins."`},
		{"a", 1, 2, "It is noon.\n", `request 2 of turn 2, to another question, whose messages differ first in line 2, character 1: recorded "You have 3 coins.", asked ""`},
		{"a", 2, 3, "It is noon.\nYou have 3 coins.\n", `request 1 of turn 2, to another question with the same messages`},
		{"a", 9, 1, "x", "the nearest of this agent is request 1 of turn 7, to another question"},
		{"b", 2, 1, "x", "of agent b of scene s, and none to any other of this agent"},
	} {
		if got := a.Missed(Place{"s", c.agent, c.turn, c.request}, c.situation); !strings.HasSuffix(got, c.want) && !strings.Contains(got, c.want+":") {
			t.Errorf("%+v:\n%s", c, got)
		}
	}
}

// The difference is whole characters of one line, and never a secret.
func TestDiffer(t *testing.T) {
	for _, c := range []struct{ recorded, asked, want string }{
		{"same", "same", ""},
		{"", "x", `line 1, character 1: recorded "", asked "x"`},
		{"tür é", "tür è", `line 1, character 5: recorded "tür é", asked "tür è"`},
		{strings.Repeat("a", 100) + "x" + strings.Repeat("b", 100), strings.Repeat("a", 100) + "y", `line 1, character 101: recorded "…` + strings.Repeat("a", 24) + "x" + strings.Repeat("b", 55) + `…", asked "…` + strings.Repeat("a", 24) + `y"`},
		{"api_key: abcdefgh1", "api_key: abcdefgh2", ""},
	} {
		got := ""
		if d := Differ(c.recorded, c.asked); d != nil {
			got = d.String()
		}
		if got != c.want {
			t.Errorf("%q, %q:\n%s\nwant %s", c.recorded, c.asked, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if d := Differ(a, b); d != nil && (d.Line < 1 || d.Column < 1) || Differ(a, a) != nil {
			t.Fatalf("%q, %q: %+v", a, b, d)
		}
	})
}

// Promise 5: a broken line is an error with its number.
func TestReadFaults(t *testing.T) {
	good := `{"scene": "s", "agent": "a", "turn": 1, "request": 1, "question": "` + question(1) + `", "origin": {"endpoint": "e"}}`
	for text, want := range map[string]string{
		good + "\n\n" + good + "\n":                                                      "",
		`{"terms": {"prices": {"a": null}}}` + "\n" + good:                               "",
		`{"terms": {}}`:                                                                  "x.jsonl:1: this is no line of a cassette: terms: prices are missing; ",
		`{"terms": {"prices": null, "budgets": {"e": {"tokens": 1}}}}`:                   "terms: prices are missing; ",
		`{"terms": {"prices": {"a": {"input": -1}}}}`:                                    "x.jsonl:1: this is no line of a cassette: terms: prices.a.input is -1; it must be 0 or more",
		`{"terms": {"prices": {"a": {"cache_write": -2}}}}`:                              "prices.a.cache_write is -2",
		`{"terms": {"prices": {"a": {"input": 1, "above": -3}}}}`:                        "prices.a.above is -3",
		`{"terms": {"prices": {"a": {"input": 1, "above": 9, "long": {"output": -4}}}}}`: "prices.a.long.output is -4",
		`{"terms": {"prices": {}, "budgets": {"e": null}}}`:                              "endpoint e has no valid budget",
		`{"terms": {"prices": {}, "budgets": {"e": {"tokens": -1}}}}`:                    "endpoint e has no valid budget",
		`{"terms": {"prices": {}}}` + "\n" + `{"terms": {"prices": {}}}`:                 "x.jsonl:2: this is no line of a cassette: terms stand twice",
		`{"terms": {"prices": {}}, ` + good[1:]:                                          "a line of its own",
		good + "\n{":                                                                     "x.jsonl:2: ",
		good + good:                                                                      "more than one value",
		strings.Replace(good, `"a"`, `""`, 1):                                            "no valid agent",
		strings.Replace(good, question(1), "short", 1):                                   "no valid question",
		strings.Replace(good, `"turn"`, `"trun"`, 1):                                     "trun",
		strings.Replace(good, `"turn": 1`, `"turn": 0`, 1):                               "no valid turn",
		`{"text": "` + strings.Repeat("x", MaxLine) + `"}`:                               "more than",
	} {
		_, err := Read("x.jsonl", strings.NewReader(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80q: %v, want %q", text, err, want)
		}
	}
}

func TestHide(t *testing.T) {
	e := entry("a", 1, 1, `password: hunter22`)
	e.Calls = []Call{{Params: map[string]any{"api_key": "abc"}}}
	e.Hide()
	var b bytes.Buffer
	if err := Write(&b, e); err != nil || strings.Contains(b.String(), "hunter22") || strings.Contains(b.String(), "abc") {
		t.Errorf("%s, %v", b.String(), err)
	}
}

// The example of the page is a cassette, and the page has every field.
func TestDocs(t *testing.T) {
	for _, text := range doctest.Examples(t, "formats/cassette.md", "cassette") {
		if _, err := Read("example", strings.NewReader(text)); err != nil {
			t.Error(err)
		}
	}
	page := doctest.Page(t, "formats/cassette.md")
	for _, typ := range []reflect.Type{reflect.TypeFor[Entry](), reflect.TypeFor[Call](), reflect.TypeFor[Usage](), reflect.TypeFor[Origin](), reflect.TypeFor[Terms](), reflect.TypeFor[price.Price](), reflect.TypeFor[price.Rates]()} {
		for _, f := range source.Fields(typ) {
			if !strings.Contains(page, "`"+f.Name+"`") {
				t.Errorf("the page lacks %s", f.Name)
			}
		}
	}
}
