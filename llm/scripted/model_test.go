package scripted

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tavernsim/llm"
	"tavernsim/llm/llmtest"
	"tavernsim/protocol"
)

func TestConformance(t *testing.T) {
	script := `
rules:
  - match: { agent: calls }
    answer: { text: I act., calls: [{ tool: A, params: { x: "{{randInt 1 9}}" } }, { tool: B }] }
  - match: { agent: slow }
    latency: { fixed: 20s }
    answer: at last
  - answer: { text: "hello {{.agent}}", reasoning: because }
`
	ask := func(agent string) func() *protocol.ModelRequest {
		return func() *protocol.ModelRequest {
			return &protocol.ModelRequest{Agent: agent, Draw: protocol.NewDraw(7), Variables: map[string]any{"a": []any{int64(1)}},
				Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "hi"}}, Events: []string{"e"}}
		}
	}
	llmtest.Run(t, llmtest.Options{
		New:   func(t *testing.T) llm.Provider { return load(t, script) },
		Plain: ask("plain"), Calls: ask("calls"), Slow: ask("slow"),
	})
}

// The embedded script answers whatever it is asked, in the form that is asked for.
func TestDefaultAnswersEverything(t *testing.T) {
	m, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		req := request{
			Agent: rapid.StringN(0, 8, -1).Draw(rt, "agent"), Prompt: rapid.String().Draw(rt, "prompt"), JSON: rapid.Bool().Draw(rt, "json"),
			Events: rapid.SliceOfN(rapid.StringN(1, 5, -1), 0, 3).Draw(rt, "events"), Rounds: rapid.IntRange(0, 2).Draw(rt, "rounds"), Seed: rapid.Uint64().Draw(rt, "seed"),
		}
		a, err := m.Answer(req.make(t))
		if err != nil || a.Text == "" || len(a.Calls) > 0 {
			rt.Fatalf("%+v: %s", req, show(a, err))
		}
		seen[a.Model] = true
	})
	if !seen["scripted/default"] || len(seen) != 1 {
		t.Errorf("models %v", seen)
	}
	if got := say(t, m, `{"agent":"elara","events":["rain"],"json":true}`); got != `{"calls":[],"response":"elara noticed rain."}` {
		t.Error(got)
	}
	if got := say(t, load(t, "rules: []"), `{"agent":"elara","rounds":1}`); got != "elara considers what came of it." {
		t.Error(got)
	}
}

// Promise 1, I4: equal requests get equal answers, whatever else is asked meanwhile.
func TestSameRequestSameAnswer(t *testing.T) {
	m := load(t, benchScript)
	const n = 2000
	want := make([]string, n)
	for i := range n {
		want[i] = show(m.Answer(benchRequest(i)))
	}
	other := load(t, benchScript)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for _, i := range rand.New(rand.NewPCG(1, uint64(g))).Perm(n) {
				if got := show(other.Answer(benchRequest(i))); got != want[i] {
					t.Errorf("request %d: %s; before %s", i, got, want[i])
					return
				}
			}
		})
	}
	wg.Wait()
	distinct := map[string]bool{}
	for _, s := range want {
		distinct[s] = true
	}
	if len(distinct) < n/10 {
		t.Errorf("%d distinct answers of %d: the test compares too little", len(distinct), n)
	}
}

// An answer keeps nothing of the reused environment.
func TestAnswersStayAsTheyWere(t *testing.T) {
	m := load(t, `rules: [{ answer: { text: "{{.agent}} {{.events}}", calls: [{ tool: t, params: { events: "{{.events}}", agent: "{{.agent}}" } }] } }]`)
	var answers []protocol.ModelAnswer
	var want []string
	for i := range 50 {
		a, err := m.Answer(&protocol.ModelRequest{Agent: fmt.Sprintf("agent %d", i), Events: []string{fmt.Sprint("e", i)}})
		if err != nil {
			t.Fatal(err)
		}
		answers, want = append(answers, a), append(want, show(a, nil))
	}
	for i, a := range answers {
		if got := show(a, nil); got != want[i] {
			t.Errorf("answer %d is now %s; was %s", i, got, want[i])
		}
	}
}

// Two calls of one deliberation that advance the same Draw differ.
func TestPositionOfDrawCounts(t *testing.T) {
	m := load(t, `rules: [{ answer: "{{randInt 1 1000000}}" }]`)
	d := protocol.NewDraw(1)
	first, _ := m.Answer(&protocol.ModelRequest{Draw: d})
	d.Uint64()
	second, _ := m.Answer(&protocol.ModelRequest{Draw: d})
	if first.Text == second.Text {
		t.Errorf("both %s", first.Text)
	}
}

// Promise 2: a changed rule does not move the chance of the others.
func TestRulesDrawIndependently(t *testing.T) {
	before := load(t, `rules: [{ match: { chance: 0.5 }, answer: a }, { answers: ["{{randInt 1 1000}}", "{{randInt 1 1000}}"] }]`)
	after := load(t, `rules: [{ match: { chance: 0.5, when: "draw < 2" }, answer: "{{randInt 1 9}}{{pick 1 2}}" }, { answers: ["{{randInt 1 1000}}", "{{randInt 1 1000}}"] }]`)
	for seed := range uint64(200) {
		req := protocol.ModelRequest{Draw: protocol.NewDraw(seed)}
		x, _ := before.Answer(&req)
		y, _ := after.Answer(&req)
		if x.Text != "a" && x.Text != y.Text || x.Text == "a" && len(y.Text) != 2 {
			t.Fatalf("seed %d: %q became %q", seed, x.Text, y.Text)
		}
	}
}

func shares(t *testing.T, script string, n int) map[string]float64 {
	t.Helper()
	m := load(t, script)
	out := map[string]float64{}
	for i := range n {
		a, err := m.Answer(&protocol.ModelRequest{Draw: protocol.NewDraw(3, uint64(i))})
		key := a.Text
		if err != nil {
			key = string(llm.OutcomeOf(err))
		}
		out[key] += 1 / float64(n)
	}
	return out
}

func TestChanceHasItsShares(t *testing.T) {
	const n = 20_000
	near := func(name string, got, want float64) {
		if math.Abs(got-want) > 0.015 {
			t.Errorf("%s: %.3f, want %.3f", name, got, want)
		}
	}
	w := shares(t, `rules: [{ match: { chance: 0.2 }, answer: rare }, { match: { when: "draw < 0.5" }, answer: drawn }, { answers: [{ text: a, weight: 3 }, { text: b, weight: 0 }, c] }]`, n)
	near("chance", w["rare"], 0.2)
	near("draw", w["drawn"], 0.4)
	near("weight 3", w["a"], 0.3)
	near("weight 1", w["c"], 0.1)
	if w["b"] != 0 {
		t.Errorf("weight 0 answered %v", w["b"])
	}
	f := shares(t, `{ failures: { timeout: 0.1, server_error: 0.2, rate_limited: 0.3, bad_output: 0.1 }, rules: [{ answer: ok }] }`, n)
	near("timeout", f["timeout"], 0.1)
	near("server_error", f["server_error"], 0.2)
	near("rate_limited", f["rate_limited"], 0.3)
	near("ok", f["ok"], 0.3)
	near("bad_output", f[""]+f["o"], 0.1)
}

func TestLatencyHasItsShape(t *testing.T) {
	var sum, logs, squares float64
	l := Latency{Median: protocol.Duration(800 * time.Millisecond), Sigma: 0.5}
	even := Latency{Min: protocol.Duration(time.Second), Max: protocol.Duration(3 * time.Second)}
	const n = 20_000
	for i := range n {
		d := protocol.NewDraw(9, uint64(i))
		x := math.Log(float64(l.Draw(d, 0)) / float64(l.Median))
		logs, squares = logs+x/n, squares+x*x/n
		e := even.Draw(d, 0)
		if e < time.Second || e >= 3*time.Second {
			t.Fatalf("even %s", e)
		}
		sum += e.Seconds() / n
	}
	if math.Abs(logs) > 0.02 || math.Abs(math.Sqrt(squares)-0.5) > 0.02 || math.Abs(sum-2) > 0.02 {
		t.Errorf("log mean %.3f, deviation %.3f, even mean %.3f", logs, math.Sqrt(squares), sum)
	}
}

// Complete waits as long as the answer says, in real time.
func TestCompleteWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := load(t, `rules: [{ match: { agent: fails }, latency: { fixed: 2s }, answer: { fail: server_error } }, { latency: { fixed: 90m }, answer: late }]`+"\ntimeout: 2h")
		start := time.Now()
		if a, err := m.Complete(context.Background(), &protocol.ModelRequest{}, nil); err != nil || a.Latency != 90*time.Minute || time.Since(start) != 90*time.Minute {
			t.Errorf("%s after %s", show(a, err), time.Since(start))
		}
		start = time.Now()
		_, err := m.Complete(context.Background(), &protocol.ModelRequest{Agent: "fails"}, nil)
		if llm.OutcomeOf(err) != llm.OutcomeServerError || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		start = time.Now()
		if _, err = m.Complete(ctx, &protocol.ModelRequest{}, nil); llm.OutcomeOf(err) != llm.OutcomeTimeout || time.Since(start) != time.Hour {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// Promise 5: what a text and a request cost in tokens.
func TestUsage(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "a": 1, "abcd": 1, "abcde": 2, "森林": 2, "a森林": 3, "é": 1} {
		if got := EstimateTokens(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
	m := load(t, `rules: [{ answer: { text: "12345678", reasoning: "1234", calls: [{ tool: abcd, params: { k: 12345678, list: [abcd] } }] } }]`)
	req := protocol.ModelRequest{
		Messages: []protocol.ModelMessage{{Text: "12345678"}, {Calls: []protocol.Call{{}}}},
		Tools:    []protocol.ToolSpec{{Name: "abcd", Description: "12345678"}},
	}
	a, err := m.Answer(&req)
	// in: 4+2, 4+8, 32+1+2; out: text 2, reasoning 1, call 8+1 and params 1 + k 1+1 + list 1+1+1
	if want := (protocol.Usage{Input: 53, Output: 18, Reasoning: 1}); err != nil || a.Usage != want {
		t.Errorf("usage %+v, want %+v; %v", a.Usage, want, err)
	}
}

func TestMaxTokensIsKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[a-z 中é]{1,60}`).Draw(rt, "text")
		limit := rapid.IntRange(1, 20).Draw(rt, "limit")
		out := protocol.ModelAnswer{Text: text, Finish: protocol.FinishStop}
		cut(&out, &protocol.ModelRequest{MaxTokens: limit})
		n := EstimateTokens(out.Text)
		if n > int64(limit) || text[:len(out.Text)] != out.Text || (out.Finish == protocol.FinishLength) != (len(out.Text) < len(text)) {
			rt.Fatalf("%q at %d: %q of %d tokens, %s", text, limit, out.Text, n, out.Finish)
		}
	})
}

// The index by profile is bounded, and beyond the bound answers stay right.
func TestProfileIndexIsBounded(t *testing.T) {
	m := load(t, `rules: [{ match: { profile: "npc_*" }, answer: npc }, { answer: other }]`)
	for i := range maxProfiles + 10 {
		for _, c := range []struct{ profile, want string }{{fmt.Sprint("npc_", i), "npc"}, {fmt.Sprint("cat_", i), "other"}} {
			if a, err := m.Answer(&protocol.ModelRequest{Profile: c.profile}); err != nil || a.Text != c.want {
				t.Fatalf("%s: %s", c.profile, show(a, err))
			}
		}
	}
	if n := len(*m.byProfile.Load()); n != maxProfiles {
		t.Errorf("%d profiles in the index", n)
	}
}

// Every field of a script is read: none is there for nothing.
func TestEveryFieldIsUsed(t *testing.T) {
	const full = `
schema_version: "1.0"
kind: scripted
name: n
description: d
timeout: 1s
latency: { fixed: 1ms }
failures: { timeout: 0.1 }
custom_metadata: { a: 1 }
otherwise: o
rules:
  - name: r
    match: { agent: a, profile: p, scene: s, model: m, purpose: deliberate, variables: { v: 1 }, events: e, all_events: e, prompt_contains: c, prompt_matches: x,
             tools: t, json: true, round: 1, when: "true", chance: 1 }
    answer: { weight: 2, text: t, reasoning: r, calls: [{ tool: t, params: { a: 1 }, when: "true" }], finish: stop }
    latency: { median: 1s, max: 2s, sigma: 1, per_token: 1ms }
    failures: { timeout: 0.1, server_error: 0.1, rate_limited: 0.1, bad_output: 0.1, retry_after: 1s }
  - answers: [{ json: 1 }, { fail: timeout }]
    latency: { min: 1s, max: 2s }
`
	if _, err := Load("full.yaml", []byte(full)); err != nil {
		t.Fatal(err)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Script](), reflect.TypeFor[Rule](), reflect.TypeFor[Match](), reflect.TypeFor[Answer](),
		reflect.TypeFor[Call](), reflect.TypeFor[Latency](), reflect.TypeFor[Failures]()} {
		for field := range typ.Fields() {
			name := jsonName(field)
			if !containsKey(full, name) {
				t.Errorf("%s.%s is not in the test", typ, name)
			}
		}
	}
}

// Promise 4: a failure has its outcome; a problem with an answer names rule and place.
func TestFailuresAreErrors(t *testing.T) {
	_, err := load(t, `rules: [{ answer: { fail: rate_limited } }]`).Answer(&protocol.ModelRequest{})
	var f *llm.Failure
	if !errors.As(err, &f) || f.RetryAfter != time.Second || protocol.KindOf(err) != protocol.KindTransient {
		t.Errorf("%#v", err)
	}
	_, err = load(t, `rules: [{ answer: "{{.variables.x}}" }]`).Answer(&protocol.ModelRequest{})
	if protocol.KindOf(err) != protocol.KindInvalid || llm.OutcomeOf(err) != llm.OutcomeBadRequest || !strings.Contains(err.Error(), "rule 1:") || !strings.Contains(err.Error(), "variables.x") {
		t.Errorf("%v", err)
	}
}
