package models

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/llm/faulty"
	"tavernsim/llm/mock"
	"tavernsim/llm/replay"
	"tavernsim/protocol"
)

// knows is what a condition reads of an agent.
type knows map[string]any

func (k knows) Lookup(root string) (any, bool) { v, ok := k[root]; return v, ok }

const routed = `kind: route
route:
  - { when: "purpose === 'reflect'", use: big }
  - { when: "goals.some(g => g.priority > 0.8)", use: big }
  - { when: "self.private_state.mood === 'angry' || events.includes('alarm')", use: rules }
  - { when: "budget.left < 0.1", use: rules }
  - { use: small }
`

func script(text string) string { return "rules: [{answer: " + text + "}]\n" }

func set(t *testing.T, opt Options) *Set {
	t.Helper()
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func answerOf(t *testing.T, s *Set, q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	t.Helper()
	at, ok := s.Provider().(llm.Instant)
	if !ok {
		t.Fatalf("%T does not answer at once", s.Provider())
	}
	return at.Answer(q)
}

// The first condition that holds chooses, and the answer says so.
func TestRoute(t *testing.T) {
	s := set(t, Options{Files: files("thinker", routed, "big", script("big"), "small", script("small"), "rules", script("by rule")), Default: "models/thinker.yaml"})
	for _, c := range []struct {
		q     protocol.ModelRequest
		want  string
		entry int64
	}{
		{protocol.ModelRequest{}, "small", 5},
		{protocol.ModelRequest{Purpose: protocol.PurposeReflect}, "big", 1},
		{protocol.ModelRequest{Asker: knows{"goals": []any{map[string]any{"priority": 0.9}}}}, "big", 2},
		{protocol.ModelRequest{Asker: knows{"goals": []any{map[string]any{"priority": 0.5}}, "self": map[string]any{"private_state": map[string]any{"mood": "angry"}}}}, "by rule", 3},
		{protocol.ModelRequest{Events: []string{"alarm"}, Asker: knows{"goals": []any{}, "self": map[string]any{"private_state": map[string]any{}}}}, "by rule", 3},
		{protocol.ModelRequest{BudgetUsed: 0.95, Asker: knows{"goals": []any{}, "self": map[string]any{"private_state": map[string]any{}}}}, "by rule", 4},
	} {
		if c.q.Asker == nil {
			c.q.Asker = knows{"goals": []any{}, "self": map[string]any{"private_state": map[string]any{}}}
		}
		for _, name := range []string{"", "thinker"} {
			c.q.Model = name
			a, err := answerOf(t, s, &c.q)
			if err != nil || a.Text != c.want || a.Origin == nil {
				t.Fatalf("%+v: %+v, %v", c.q, a, err)
			}
			served := llm.ServedOf(a.Origin.Served)
			if served.By != llm.ByRule || len(served.Steps) != 1 || served.Steps[0].Entry != c.entry {
				t.Errorf("%+v: served %+v, want entry %d", c.q, served, c.entry)
			}
		}
	}
	if a, err := answerOf(t, s, &protocol.ModelRequest{Model: "big"}); err != nil || a.Origin != nil || a.Text != "big" {
		t.Errorf("asked by name: %+v, %v", a, err)
	}
	if _, err := answerOf(t, s, &protocol.ModelRequest{Asker: knows{"goals": "none"}}); llm.OutcomeOf(err) != llm.OutcomeBadRequest || !strings.Contains(err.Error(), "thinker: route 2") {
		t.Errorf("a condition that fails: %v", err)
	}
}

// What a request may come to says which of two equal questions has which answer.
func TestAppendChoice(t *testing.T) {
	s := set(t, Options{Files: files("thinker", routed, "big", script("big"), "small", script("small"), "rules", script("by rule")), Default: "models/thinker.yaml"})
	choice := func(used float64, mood string) string {
		q := protocol.ModelRequest{BudgetUsed: used, Asker: knows{"goals": []any{}, "self": map[string]any{"private_state": map[string]any{"mood": mood}}}}
		s.Route(&q)
		return string(s.AppendChoice(nil, &q))
	}
	if calm := choice(0, "calm"); calm == "" || calm != choice(0.5, "glad") || calm == choice(0.95, "calm") || calm == choice(0, "angry") {
		t.Errorf("choices %q %q %q %q", calm, choice(0.5, "glad"), choice(0.95, "calm"), choice(0, "angry"))
	}
}

// Why a route went on is in the facts, so answers after other failures are not shared.
func TestAlikeByWhatFailed(t *testing.T) {
	_, to := cloud(t)
	r := "kind: route\nroute: [{use: one}]\nfallback: [{use: two}]\n"
	s := set(t, Options{Files: files("r", r, "one", thinker, "two", strings.Replace(thinker, "small", "large", 1)), Endpoints: to, Default: "models/r.yaml"})
	alike := func(o llm.Outcome) string {
		zero := 0.0
		q := ask("")
		q.Temperature = &zero
		s.Route(q)
		s.Next(q, &protocol.ModelAnswer{}, &llm.Failure{Outcome: o})
		return s.Alike(q)
	}
	if quota := alike(llm.OutcomeQuota); quota == "" || quota != alike(llm.OutcomeQuota) || quota == alike(llm.OutcomeUnavailable) {
		t.Errorf("%q, %q", quota, alike(llm.OutcomeUnavailable))
	}
}

// A fallback is for outcomes; those behind one that was taken remain, and those of an
// outer route come after. The time of what failed is added.
func TestFallback(t *testing.T) {
	fails := func(o string) string { return "rules: [{answer: {fail: " + o + "}, latency: {fixed: 3s}}]\n" }
	inner := "kind: route\nroute: [{use: %s}]\nfallback:\n  - {on: [rate_limited], use: two}\n  - {on: [timeout, rate_limited], use: three}\n"
	outer := "kind: route\nroute: [{use: inner}]\nfallback: [{use: last}]\n"
	for _, c := range []struct{ one, two, three, want, steps string }{
		{script("one"), script("two"), script("three"), "one", "inner/1 one/1"},
		{fails("rate_limited"), script("two"), script("three"), "two", "inner/1 one/1 two/1/rate_limited"},
		{fails("rate_limited"), fails("rate_limited"), script("three"), "three", "inner/1 one/1 two/1/rate_limited three/2/rate_limited"},
		{fails("timeout"), script("two"), script("three"), "three", "inner/1 one/1 three/2/timeout"},
		{fails("server_error"), script("two"), script("three"), "last", "inner/1 one/1 last/1/server_error"},
		{fails("timeout"), script("two"), fails("server_error"), "last", "inner/1 one/1 three/2/timeout last/1/server_error"},
		{fails("bad_output"), script("two"), script("three"), "", ""}, // the default of a fallback has no bad_output
	} {
		s := set(t, Options{Files: files("outer", outer, "inner", fmt.Sprintf(inner, "one"), "one", c.one, "two", c.two, "three", c.three, "last", script("last")), Default: "models/outer.yaml"})
		a, err := answerOf(t, s, ask(""))
		if c.want == "" {
			if llm.OutcomeOf(err) != llm.OutcomeBadOutput {
				t.Errorf("%+v, %v", a, err)
			}
			continue
		}
		if err != nil || a.Text != c.want {
			t.Fatalf("want %s: %+v, %v", c.want, a, err)
		}
		served := llm.ServedOf(a.Origin.Served)
		var steps []string
		late := time.Duration(0)
		for _, x := range served.Steps {
			text := fmt.Sprintf("%s/%d", x.Model, x.Entry)
			if x.After != "" {
				text += "/" + x.After
			}
			steps = append(steps, text)
		}
		if got := strings.Join(steps, " "); got != c.steps {
			t.Errorf("steps %s, want %s", got, c.steps)
		}
		for _, x := range served.Steps {
			switch x.After {
			case "rate_limited", "server_error":
				late += 3 * time.Second
			case "timeout":
				late += 30 * time.Second
			}
		}
		if a.Latency != late {
			t.Errorf("%s: latency %s, want %s", c.steps, a.Latency, late)
		}
	}
}

// Complete follows fallbacks by itself where no shell routes, and an instant model takes
// its time.
func TestCompleteFollowsFallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := set(t, Options{Files: files("r", "kind: route\nroute: [{use: bad}]\nfallback: [{use: good}]\n",
			"bad", "rules: [{answer: {fail: server_error}, latency: {fixed: 2s}}]\n", "good", "rules: [{answer: yes sir, latency: {fixed: 1s}}]\n")})
		began := time.Now()
		a, err := s.Complete(t.Context(), ask("r"), nil)
		if err != nil || a.Text != "yes sir" || time.Since(began) != 3*time.Second {
			t.Errorf("%+v, %v after %s", a, err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		if _, err := s.Complete(ctx, ask("r"), nil); llm.OutcomeOf(err) != llm.OutcomeTimeout {
			t.Errorf("too late: %v", err)
		}
	})
}

func cassette(t *testing.T, entries ...*replay.Entry) File {
	t.Helper()
	var b bytes.Buffer
	for _, e := range entries {
		if err := replay.Write(&b, e); err != nil {
			t.Fatal(err)
		}
	}
	return File{Path: "models/recorded/market.jsonl", Data: b.Bytes()}
}

// Recorded answers need no endpoint. A miss fails and names the nearest, or asks.
func TestReplayFile(t *testing.T) {
	_, to := cloud(t)
	live := set(t, Options{Files: files("thinker", thinker), Endpoints: to})
	q := ask("thinker")
	q.Scene, q.Agent, q.Turn, q.Number = "s", "bo", 3, 1
	want, err := live.Complete(context.Background(), q, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := replay.Of("s", "bo", 3, 1, &want, nil)
	again := "kind: replay\nanswers: models/recorded/market.jsonl\nmodel: thinker\n"
	recorded := []File{cassette(t, &e)}
	s := set(t, Options{Files: files("again", again, "thinker", thinker), Others: recorded, Default: "models/again.yaml"})
	if len(s.Notes) > 0 {
		t.Errorf("notes %v", s.Notes)
	}
	q.Model = ""
	got, err := answerOf(t, s, q)
	want.Origin.FirstChunk, want.Origin.Reused = 0, true
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v, %v", got, want, err)
	}
	q.Turn, q.Messages = 5, []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "other"}}
	if _, err := answerOf(t, s, q); llm.OutcomeOf(err) != llm.OutcomeBadRequest || !strings.Contains(err.Error(), "turn 5 of agent bo of scene s; the nearest of this agent is request 1 of turn 3") {
		t.Errorf("a miss: %v", err)
	}
	s = set(t, Options{Files: files("again", again+"on_miss: ask\n", "thinker", thinker), Others: recorded, Endpoints: to})
	q.Model = "again"
	if a, err := s.Complete(context.Background(), q, nil); err != nil || a.Origin.Question == e.Question {
		t.Errorf("a miss that asks: %+v, %v", a, err)
	}
}

// A question that is longer than the context that its model's file says fails in the same way without an endpoint: no
// record has the refusal.
func TestTooLongWithoutAnEndpoint(t *testing.T) {
	_, to := cloud(t)
	small := thinker + "context: 1100\n"
	q := ask("thinker")
	q.Scene, q.Agent, q.Turn, q.Number = "s", "bo", 3, 1
	q.Messages = []protocol.ModelMessage{{Role: protocol.RoleUser, Text: strings.Repeat("A long way home. ", 200)}}
	live := set(t, Options{Files: files("thinker", small), Endpoints: to})
	first, want := live.Complete(context.Background(), q, nil)
	if llm.OutcomeOf(want) != llm.OutcomeContext {
		t.Fatal(want)
	}
	other := &replay.Entry{Scene: "s", Agent: "bo", Turn: 3, Request: 2, Question: strings.Repeat("0", 32), Text: "short", Finish: protocol.FinishStop}
	answers := &replay.Answers{}
	answers.Add(other)
	for name, opt := range map[string]Options{
		"answers": {Files: files("thinker", small), Answers: answers},
		"replay":  {Files: files("again", "kind: replay\nanswers: models/recorded/market.jsonl\nmodel: thinker\n", "thinker", small), Others: []File{cassette(t, other)}, Default: "models/again.yaml"},
	} {
		s, asks := set(t, opt), *q
		if asks.Model = "thinker"; name == "replay" {
			asks.Model = ""
		}
		got, err := s.Complete(context.Background(), &asks, nil)
		if err == nil || err.Error() != want.Error() || protocol.KindOf(err) != protocol.KindOf(want) || !reflect.DeepEqual(got, first) {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, err, first, want)
		}
		if n := s.Counts(); n.Missed != 0 {
			t.Errorf("%s: %d questions are not recorded", name, n.Missed)
		}
	}
}

// A fallback's answer is found again without an endpoint, with how it came about.
func TestAnswersOfARoute(t *testing.T) {
	_, to := cloud(t)
	texts := []string{"r", "kind: route\nroute: [{use: one}]\nfallback: [{use: two}]\n", "one", "kind: faulty\nmodel: thinker\nfaults: {rate_limited: 1}\n",
		"thinker", thinker, "two", strings.Replace(thinker, "small", "large", 1)}
	live := set(t, Options{Files: files(texts...), Endpoints: to, Default: "models/r.yaml"})
	q := ask("")
	q.Scene, q.Agent, q.Turn, q.Number = "s", "bo", 3, 1
	want, err := live.Complete(context.Background(), q, nil)
	if err != nil || llm.ServedOf(want.Origin.Served).Model != "two" {
		t.Fatalf("%+v, %v", want, err)
	}
	e := replay.Of("s", "bo", 3, 1, &want, nil)
	answers := &replay.Answers{}
	answers.Add(&e)
	s := set(t, Options{Files: files(texts...), Answers: answers, Default: "models/r.yaml"})
	want.Origin.FirstChunk = 0
	if r := s.Route(q); !r.Instant {
		t.Error("a recorded answer takes time")
	}
	want.Origin.Reused = true
	if got, err := s.Now(q); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v, %v", got, want, err)
	}
	if n := s.Counts(); n.Reused != 1 || n.Asked != 0 {
		t.Errorf("%+v", n)
	}
	if _, more := s.Next(q, &protocol.ModelAnswer{}, &llm.Failure{Outcome: llm.OutcomeTimeout}); more {
		t.Error("a recorded failure has a fallback")
	}
}

// Every fault has the name that simd mock-llm has for it, and its outcome.
func TestFaulty(t *testing.T) {
	says := "rules: [{answer: {text: good day, calls: [{tool: SayTool, params: {text: hello}}]}}]\n"
	want := map[string]llm.Outcome{
		"rate_limited": llm.OutcomeRateLimited, "rate_limited_bare": llm.OutcomeRateLimited, "quota": llm.OutcomeQuota, "unauthorized": llm.OutcomeAuth, "server_error": llm.OutcomeServerError,
		"timeout": llm.OutcomeTimeout, "truncated": llm.OutcomeTruncated, "context_too_long": llm.OutcomeContext, "unknown_model": llm.OutcomeBadRequest, "malformed": llm.OutcomeBadOutput,
	}
	names := mock.FaultNames()
	for _, f := range source.Fields(reflect.TypeFor[faulty.Faults]()) {
		if f.Type.Kind() != reflect.Float64 {
			continue
		}
		if !strings.Contains(" "+strings.Join(names, " ")+" truncated ", " "+f.Name+" ") {
			t.Errorf("simd mock-llm has no fault %s", f.Name)
		}
		s := set(t, Options{Files: files("bad", "kind: faulty\nmodel: good\nfaults: {"+f.Name+": 1}\n", "good", says)})
		a, err := answerOf(t, s, ask("bad"))
		if o := llm.OutcomeOf(err); o != want[f.Name] && (o != llm.OutcomeOK || want[f.Name] != "") {
			t.Errorf("%s: %v", f.Name, err)
		}
		if err == nil && a.Text == "good day" && len(a.Calls) == 1 && a.Calls[0].Tool == "SayTool" && a.Calls[0].Broken == "" && a.Latency == 0 {
			t.Errorf("%s: nothing is wrong with %+v", f.Name, a)
		}
	}
	half := set(t, Options{Files: files("bad", "kind: faulty\nmodel: good\nfaults: {timeout: 0.2, malformed: 0.3}\n", "good", says)})
	failed := 0
	for i := range 1000 {
		q := ask("bad")
		q.Draw = protocol.NewDraw(uint64(i))
		_, err := answerOf(t, half, q)
		_, again := answerOf(t, half, q)
		if llm.OutcomeOf(err) != llm.OutcomeOf(again) {
			t.Fatal("two attempts by the same chance differ")
		}
		if err != nil {
			failed++
		}
	}
	if failed < 450 || failed > 550 {
		t.Errorf("%d of 1000 failed, want half", failed)
	}
}

// What files say of each other is checked, with the place.
func TestLinkFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"kind: route\nroute: [{use: goodd}]", `x.yaml:2:15: route[0].use: there is no sound model "goodd"`},
		{"kind: route\nroute: [{use: x}]", "in a circle: x -> x"},
		{"kind: route\nroute: [{use: good}]\nfallback: [{use: y}]", "in a circle: x -> y -> x"},
		{"kind: route\nroute: [{when: 'a >', use: good}, {use: good}]", "does not compile"},
		{"kind: route\nroute: [{when: 'mood', use: good}, {use: good}]", "does not compile"},
		{"kind: route\nroute: [{use: good}, {use: good}]", "those after it never do"},
		{"kind: route\nroute: [{when: 'true', use: good}]", "the last entry has a condition"},
		{"kind: route\nroute: []", "the route has no entry"},
		{"kind: route\nroute: [{use: good}]\nfallback: [{on: [cancelled], use: good}]", "cancelled"},
		{"kind: faulty\nmodel: nobody\nfaults: {timeout: 1}", `no sound model "nobody"`},
		{"kind: faulty\nmodel: good\nfaults: {timeout: 0.7, quota: 0.7}", "more than 1 together"},
		{"kind: faulty\nmodel: good\nfaults: {}", "no fault has a probability"},
		{"kind: faulty\nmodel: good\nfaults: {timeot: 1}", `did you mean "timeout"`},
		{"kind: replay\nmodel: good\nanswers: models/a.jsonl", "it is at no endpoint"},
		{"kind: replay\nmodel: at\nanswers: models/b.jsonl", "there is no file models/b.jsonl"},
		{"kind: replay\nmodel: at\nanswers: models/bad.jsonl", "models/bad.jsonl:1: this is no line of a cassette"},
		{"kind: openai\nmodel: m\nparams:\n  extra: {top_k: 3, max_completion_tokens: 9000}", "x.yaml:4:44: params.extra.max_completion_tokens: simd writes the field max_completion_tokens itself"},
		{"kind: anthropic\nmodel: m\nparams: {extra: {thinking: {type: adaptive}, n: 2}}", "params.extra.n"},
		{"kind: openai\nmodel: m\nparams: {extra: {candidateCount: 4}}", "params.extra.candidateCount"},
		{"kind: replay\nmodel: at\nanswers: models/empty.jsonl", "has no answers"},
	} {
		report := &source.Report{}
		list := files("x", c.text, "good", script("good"), "at", thinker, "y", "kind: faulty\nmodel: x\nfaults: {timeout: 1}")
		if Read("x.yaml", []byte(c.text), report) {
			Check(list, []File{{"models/bad.jsonl", []byte("{}\n")}, {"models/empty.jsonl", nil}, {"models/a.jsonl", nil}}, report)
		}
		if err := report.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	deep := []string{"m0", script("good")}
	for i := range 10 {
		deep = append(deep, fmt.Sprintf("m%d", i+1), fmt.Sprintf("kind: route\nroute: [{use: m%d}]\n", i))
	}
	wide := []string{"w0", script("good")}
	for i := range 6 {
		wide = append(wide, fmt.Sprintf("w%d", i+1), fmt.Sprintf("kind: route\nroute: [{use: w%d}]\nfallback: [{use: w%d}, {use: w%d}]\n", i, i, i))
	}
	for want, texts := range map[string][]string{"deep; at most 8": deep, "models; at most 64": wide} {
		if _, err := New(Options{Files: files(texts...)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
