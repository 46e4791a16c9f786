package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/protocol/bound"
)

// consultant is an agent that decides to call the oracle's tool with each of the
// given parameters.
func consultant(t *testing.T, change func(*Definition), params ...map[string]any) *Machine {
	t.Helper()
	m := machine(t, echo(), func(d *Definition) {
		d.External = []External{{Kind: "oracle", Spec: protocol.ToolSpec{Name: "AskOracleTool", Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}},
		}}}}
		d.Tools = append(slices.Clone(d.Tools), "AskOracleTool")
		if change != nil {
			change(d)
		}
	})
	list := []any{}
	for _, p := range params {
		list = append(list, map[string]any{"tool": "AskOracleTool", "params": p})
	}
	m.State.Private = map[string]any{"decision": map[string]any{"calls": list}}
	return m
}

func asked(t *testing.T, m *Machine, in any) (protocol.Decision, []string) {
	t.Helper()
	d, err := m.Decide(in)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range d.Effects {
		q := e.(*effect.Ask)
		out = append(out, fmt.Sprint(q.Kind, q.Number, q.Call.Params["q"]))
	}
	return d, out
}

// Calls of an external tool leave one after the other, each as a request; the turn
// waits for its answer, which is a fact before the call's.
func TestExternalCalls(t *testing.T) {
	m := consultant(t, nil, map[string]any{"q": "when"}, map[string]any{"q": "where"})
	d, got := asked(t, m, wake(t, 1))
	if want := []string{"oracle1when"}; !slices.Equal(got, want) || len(d.Facts) > 0 {
		t.Fatal(got, d.Facts)
	}
	for _, x := range []*effect.Answered{{Kind: "oracle", Number: 2}, {Kind: effect.KindModel, Number: 1}, {Kind: "panel", Number: 1}} {
		if d, got := asked(t, m, x); len(got)+len(d.Facts) > 0 {
			t.Errorf("nobody asked for %+v: %v", x, got)
		}
	}
	if _, got = asked(t, m, &effect.Answered{Kind: "oracle", Number: 1, Output: "soon", Latency: 3 * time.Second}); !slices.Equal(got, []string{"oracle2where"}) {
		t.Fatal(got)
	}
	d, _ = asked(t, m, &effect.Answered{Kind: "oracle", Number: 2, Err: protocol.Errorf(protocol.KindTransient, "fumes")})
	var kinds []string
	for _, f := range d.Facts {
		kinds = append(kinds, f.FactKind())
	}
	if want := []string{agentfact.FactCallAnswered, agentfact.FactCallMade, agentfact.FactCallAnswered, agentfact.FactCallMade, agentfact.FactTurnEnded}; !slices.Equal(kinds, want) {
		t.Fatal(kinds)
	}
	if want := []string{"AskOracleTool ok", "AskOracleTool error AskOracleTool: fumes"}; !slices.Equal(calls(d), want) {
		t.Errorf("%q", calls(d))
	}
	if x := d.Facts[2].(*agentfact.CallAnswered); x.ErrorKind != protocol.KindTransient || x.Request != 2 || x.Kind != "oracle" {
		t.Errorf("%+v", x)
	}
	if end := d.Facts[4].(*agentfact.TurnEnded); end.Elapsed != 3*time.Second || end.ModelCalls != 0 || end.Calls != 2 {
		t.Errorf("%+v", end)
	}
	apply(t, m, d, 1)
	if got := seen(m); got != "AskOracleTool AskOracleTool" {
		t.Errorf("observations %q", got)
	}
}

// What the inventory does not allow, what has too many calls before it, and what
// cannot be read asks nobody.
func TestExternalCallsThatDoNotLeave(t *testing.T) {
	q := map[string]any{"q": "x"}
	for name, c := range map[string]struct {
		change func(*Definition)
		want   string
	}{
		"denied": {func(d *Definition) {
			d.Tools = slices.DeleteFunc(d.Tools, func(id string) bool { return id == "AskOracleTool" })
		}, string(protocol.CallDenied)},
		"limit": {func(d *Definition) { d.Limits.MaxCalls = 0 }, string(protocol.CallFailed)},
	} {
		t.Run(name, func(t *testing.T) {
			d, got := asked(t, consultant(t, c.change, q), wake(t, 1))
			if len(got) > 0 || len(d.Facts) == 0 || d.Facts[0].(*agentfact.CallMade).Status != protocol.CallStatus(c.want) {
				t.Errorf("%v %v", got, calls(d))
			}
		})
	}
}

// A turn that is cancelled waits no longer: the call is told as cancelled. One that
// is interrupted leaves what was answered, and nothing else.
func TestExternalCallsOfATurnThatIsStopped(t *testing.T) {
	two := []map[string]any{{"q": "when"}, {"q": "where"}}
	for _, interrupt := range []bool{false, true} {
		m := consultant(t, nil, two...)
		asked(t, m, wake(t, 1))
		asked(t, m, &effect.Answered{Kind: "oracle", Number: 1, Output: "soon"})
		d, _ := asked(t, m, &Cancel{Reason: "enough", Interrupt: interrupt})
		want := []string{"AskOracleTool ok", "AskOracleTool error AskOracleTool: enough"}
		if interrupt {
			want = nil
		}
		if !slices.Equal(calls(d), want) || d.Facts[0].FactKind() != agentfact.FactCallAnswered {
			t.Errorf("interrupt %v: %q %v", interrupt, calls(d), d.Facts)
		}
		if d, got := asked(t, m, &effect.Answered{Kind: "oracle", Number: 2, Output: "here"}); len(got)+len(d.Facts) > 0 {
			t.Errorf("a late answer decided %v", d.Facts)
		}
	}
}

// A call that must not be repeated and whose answer nobody waits for any more is told as
// unknown, also if nothing else of the turn is left.
func TestCallsThatMustNotBeRepeated(t *testing.T) {
	for _, interrupt := range []bool{false, true} {
		m := consultant(t, func(d *Definition) { d.External[0].Once = true }, map[string]any{"q": "when"}, map[string]any{"q": "where"})
		asked(t, m, wake(t, 1))
		asked(t, m, &effect.Answered{Kind: "oracle", Number: 1, Output: "soon"})
		d, _ := asked(t, m, &Cancel{Reason: "enough", Interrupt: interrupt})
		n := len(d.Facts)
		lost, ok := d.Facts[n-2].(*agentfact.OutcomeUnknown)
		if !ok || lost.Effect != "oracle" || lost.Request != 2 {
			t.Fatalf("interrupt %v: %v", interrupt, d.Facts)
		}
		apply(t, m, d, 1)
		if got := m.State.observations[len(m.State.observations)-1]; got.Kind != "unknown_outcome" {
			t.Errorf("interrupt %v: the agent observes %+v", interrupt, got)
		}
	}
}

// What a tool says about itself: the check of its parameters, its time-out, and how much of
// an output the agent is shown.
func TestWhatAToolSaysAboutItself(t *testing.T) {
	var given map[string]any
	m := consultant(t, func(d *Definition) {
		d.External[0].Timeout = 3 * time.Second
		d.External[0].Check = func(params map[string]any) error {
			given = params
			if params["q"] == "no" {
				return errors.New("/q: not that")
			}
			return nil
		}
	}, map[string]any{"q": "no"}, map[string]any{"q": "when", "more": nil})
	d, got := asked(t, m, wake(t, 1))
	if !slices.Equal(got, []string{"oracle1when"}) || len(given) != 1 {
		t.Fatal(got, given)
	}
	q := d.Effects[0].(*effect.Ask)
	again := consultant(t, nil, map[string]any{"q": "when"})
	e, _ := asked(t, again, wake(t, 1))
	if q.Timeout != 3*time.Second || q.First != 1 || q.Model.Agent != m.ID.Instance || q.Model.Draw != e.Effects[0].(*effect.Ask).Model.Draw {
		t.Errorf("%+v", q)
	}
	long := strings.Repeat("ä", 20_000)
	d, _ = asked(t, m, &effect.Answered{Kind: "oracle", Number: 1, Output: long})
	if want := "AskOracleTool error parameters of AskOracleTool: /q: not that"; calls(d)[0] != want {
		t.Errorf("%q, want %q", calls(d)[0], want)
	}
	whole, _ := d.Facts[1].(*agentfact.CallAnswered).Output.Value()
	shown, _ := d.Facts[2].(*agentfact.CallMade).Output.Value()
	text, _ := shown.(string)
	if whole != long || len(text) > 16<<10 || !strings.Contains(text, "bytes are left out") {
		t.Errorf("%d bytes are shown", len(text))
	}
}

// Nobody knows what became of it: a fact, as with a model.
func TestExternalCallOfUnknownOutcome(t *testing.T) {
	m := consultant(t, nil, map[string]any{"q": "when"})
	asked(t, m, wake(t, 1))
	d, _ := asked(t, m, &effect.Answered{Kind: "oracle", Number: 1, Err: protocol.Errorf(protocol.KindUnknownOutcome, "nobody knows")})
	if got, ok := d.Facts[1].(*agentfact.OutcomeUnknown); !ok || *got != (agentfact.OutcomeUnknown{Effect: "oracle", Request: 1, Error: "nobody knows"}) {
		t.Errorf("%+v", d.Facts)
	}
}

// custom_runtime_config.max_tokens: whatever models are asked, at once and one after the
// other, and whichever fail, what they use together is never more, if no prompt has more
// tokens than bytes and no answer more than it may. A failure that may have been paid for
// counts as if it had been.
func TestMaxTokensIsABound(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.Int64Range(20, 20_000).Draw(r, "limit")
		def := asks(rapid.IntRange(1, 6).Draw(r, "models"))
		for i := 2; i < len(def.Nodes); i++ {
			def.Nodes[i].Retry = workflow.Retry{Max: 3}
		}
		m := machine(t, def, func(d *Definition) {
			d.Limits.MaxTokens, d.Limits.MaxToolRounds, d.Limits.MaxModelCalls = limit, 4, rapid.IntRange(1, 20).Draw(r, "calls")
		})
		d, err := m.Decide(wake(t, 1))
		used, open := int64(0), []*effect.Ask(nil)
		for err == nil && len(d.Facts) == 0 {
			for _, e := range d.Effects {
				open = append(open, e.(*effect.Ask))
			}
			i := rapid.IntRange(0, len(open)-1).Draw(r, "answered")
			q := open[i]
			open = slices.Delete(open, i, i+1)
			prompt, answer := bound.Prompt(&q.Model), int64(q.Model.Cap)
			x := &effect.Answered{Kind: effect.KindModel, Number: q.Number}
			switch rapid.IntRange(0, 5).Draw(r, "outcome") {
			case 0:
				x.Err = protocol.Errorf(protocol.KindTimeout, "no answer")
				used += prompt + answer // the server may have made all of it
			case 1:
				x.Err = protocol.Errorf(protocol.KindDenied, "no key")
			default:
				x.Model = protocol.ModelAnswer{Text: "so", Finish: protocol.FinishStop, Calls: []protocol.Call{{Tool: "Nothing"}}}
				x.Model.Usage = protocol.Usage{Input: rapid.Int64Range(1, prompt).Draw(r, "in"), Output: rapid.Int64Range(1, answer).Draw(r, "out")}
				used += x.Model.Usage.Input + x.Model.Usage.Output
			}
			d, err = m.Decide(x)
		}
		if err != nil || used > limit {
			r.Fatalf("%d tokens of %d; %v", used, limit, err)
		}
	})
}

// An answer may have what its node says, at most what is left; without a word of the
// node an equal share of it, and never less than what providers allow if that is left.
func TestCap(t *testing.T) {
	for name, c := range map[string]struct {
		left int64
		node int
		want []int // caps of the requests at once
		sent int   // MaxTokens of the first
	}{
		"an equal share":            {100_000, 0, []int{12497, 12495, 12492}, 0},
		"what providers allow":      {4_000, 0, []int{1024, 1024, 1024}, 0},
		"what is left":              {1_100, 0, []int{1024, 40}, 0},
		"the node's":                {100_000, 50, []int{50, 50, 50}, 50},
		"the node's, lowered":       {300, 250, []int{250}, 250},
		"the node's, lowered twice": {250, 5000, []int{232}, 232},
		"a short one of the node's": {30, 8, []int{8}, 8},
		"nothing":                   {18, 0, nil, 0},
	} {
		def := asks(3)
		for i := 2; i < len(def.Nodes) && c.node > 0; i++ {
			def.Nodes[i].ConfigValues = map[string]any{"maxTokens": c.node}
		}
		m := machine(t, def, func(d *Definition) { d.Limits.MaxTokens = c.left })
		d, err := m.Decide(wake(t, 1))
		var got []int
		for _, e := range d.Effects {
			got = append(got, e.(*effect.Ask).Model.Cap)
		}
		if err != nil || !slices.Equal(got, c.want) || len(got) > 0 && d.Effects[0].(*effect.Ask).Model.MaxTokens != c.sent {
			t.Errorf("%s: %v, want %v; %v", name, got, c.want, err)
		}
	}
}

// What the model's file adds to a question counts within the profile's max_tokens.
func TestMaxTokensHasExtra(t *testing.T) {
	m := machine(t, asks(1), func(d *Definition) {
		d.Limits.MaxTokens, d.Rooms = 2_000, map[string]workflow.Room{"": {Extra: 1500}}
	})
	d, err := m.Decide(wake(t, 1))
	if err != nil || len(d.Effects) != 1 || d.Effects[0].(*effect.Ask).Model.Cap > 500 {
		t.Errorf("%+v, %v", d.Effects, err)
	}
}

// A payload that is no value would be an event that nobody can read.
func TestAPayloadIsAValue(t *testing.T) {
	m := consultant(t, nil, map[string]any{"q": "when"})
	if _, got := asked(t, m, wake(t, 1)); len(got) != 1 {
		t.Fatal(got)
	}
	if _, err := m.turn.publish(tool.Params{"type": "a.b", "payload": map[string]any{"x": math.Inf(-1)}}); protocol.KindOf(err) != protocol.KindInvalid {
		t.Errorf("%v, want that it is no value", err)
	}
}
