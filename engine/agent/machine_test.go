package agent

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/bus"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Promise 1, I4: the same state and input give the same bytes, and deciding changes
// nothing.
func TestDecideIsBlind(t *testing.T) {
	do := map[string]any{"decision": map[string]any{
		"say": "hm", "private_state": map[string]any{"a": int64(1), "b": []any{"x"}}, "world": map[string]any{"path": "n", "value": int64(1)},
		"calls": []any{map[string]any{"tool": "GenerateRandomNumberTool"}, map[string]any{"tool": "Nothing"}},
	}}
	var first []byte
	for range 3 {
		m := machine(t, echo())
		m.State.Private = do
		before := bytesOf(t, m)
		d, err := m.Decide(wake(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		same(t, bytesOf(t, m), before, "the state after deciding")
		b := encoded(t, d)
		if first == nil {
			first = b
		}
		same(t, b, first, "the decision")
	}
}

// Promise 5. What was applied and stored comes back, and the same decisions follow.
func TestSnapshotGoesOnAlike(t *testing.T) {
	codec := protocol.NewCodec()
	rapid.Check(t, func(r *rapid.T) {
		m := machine(t, echo(), func(d *Definition) {
			d.Limits.MaxInbox, d.Limits.MaxObservations, d.Limits.MaxHistory = 3, 3, 2
		})
		n := uint64(1)
		for range rapid.IntRange(0, 12).Draw(r, "steps") {
			switch rapid.IntRange(0, 2).Draw(r, "step") {
			case 0:
				m.Hear(event(fmt.Sprint("e", n), protocol.Priority(rapid.IntRange(-1, 2).Draw(r, "priority"))))
			case 1:
				m.Observe(Observation{Time: moment(float64(n)), Kind: "world_refused", Value: map[string]any{"n": int64(n)}})
			default:
				m.State.Private = map[string]any{"decision": randomDecision(r), "count": int64(n)}
				decide(t, m, n)
			}
			n++
		}
		raw := bytesOf(t, m)
		if behind, err := AppendSnapshot(codec, []byte("x"), &m.State); err != nil || string(behind) != "x"+string(raw) {
			r.Fatalf("%q behind x is %q, %v", raw, behind, err)
		}
		back := machine(t, echo(), func(d *Definition) { d.Limits = m.Def.Limits })
		var err error
		if back.State, err = Restore(codec, raw); err != nil {
			r.Fatal(err)
		}
		if got := bytesOf(t, back); !bytes.Equal(got, raw) {
			r.Fatalf("%q became %q", raw, got)
		}
		a, b := decide(t, m, n), decide(t, back, n)
		x := encoded(t, a)
		y := encoded(t, b)
		if !bytes.Equal(x, y) || !bytes.Equal(bytesOf(t, m), bytesOf(t, back)) {
			r.Fatalf("went on with %q\nrestored %q", x, y)
		}
		if l := m.Def.Limits; len(m.State.inbox) > l.MaxInbox || len(m.State.observations) > l.MaxObservations || len(m.State.history) > l.MaxHistory {
			r.Fatalf("%d events, %d observations, %d utterances", len(m.State.inbox), len(m.State.observations), len(m.State.history))
		}
	})
}

func randomDecision(r *rapid.T) map[string]any {
	pool := map[string]any{
		"say": "hm", "private_state": map[string]any{"x": int64(1)}, "goals": map[string]any{"id": "g", "status": "active"},
		"events": map[string]any{"type": "a.b"}, "world": []any{map[string]any{"path": "n", "value": int64(1)}, "no object"},
		"calls": []any{map[string]any{"tool": "Nothing"}, map[string]any{"tool": "ReadWorldStateTool"}}, "dance": true, "sleep": map[string]any{"seconds": int64(3)},
	}
	d := map[string]any{}
	for _, name := range protocol.SortedKeys(pool) {
		if rapid.Bool().Draw(r, name) {
			d[name] = pool[name]
		}
	}
	return d
}

// Promise 6, custom_runtime_config.max_inbox: beyond it the oldest of the lowest priority
// is dropped, and the next deliberation is told.
func TestInboxOverflow(t *testing.T) {
	for name, c := range map[string]struct {
		hear []*protocol.Envelope
		want string
	}{
		"oldest of equals":       {[]*protocol.Envelope{event("a", 0), event("b", 0), event("c", 0)}, "b c"},
		"lowest":                 {[]*protocol.Envelope{event("a", 1), event("b", -1), event("c", 0)}, "a c"},
		"the new one is lowest":  {[]*protocol.Envelope{event("a", 1), event("b", 0), event("c", -1)}, "a b"},
		"most urgent come first": {[]*protocol.Envelope{event("a", 0), event("b", 2)}, "b a"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, echo(), func(d *Definition) { d.Limits.MaxInbox = 2 })
			for _, e := range c.hear {
				m.Hear(e)
			}
			if got := ids(m, moment(1)); got != c.want {
				t.Errorf("perceives %q, want %q", got, c.want)
			}
			d := decide(t, m, 1)
			end := d.Facts[len(d.Facts)-1].(*agentfact.TurnEnded)
			if end.Through != uint64(len(c.hear)) || m.State.Waiting() != 0 {
				t.Errorf("%+v, %d wait", end, m.State.Waiting())
			}
		})
	}
}

// Observations: a turn is shown what there is; what comes of it is for the next,
// also when there are more than max_observations.
func TestObservations(t *testing.T) {
	m := machine(t, echo(), func(d *Definition) { d.Limits.MaxObservations = 3 })
	for range 5 {
		m.Observe(Observation{Kind: "old"})
	}
	if got := seen(m); got != "old old old" {
		t.Fatal(got)
	}
	m.State.Private = map[string]any{"decision": map[string]any{"calls": []any{
		map[string]any{"tool": "A"}, map[string]any{"tool": "B"},
	}}}
	d := decide(t, m, 1)
	if end := d.Facts[len(d.Facts)-1].(*agentfact.TurnEnded); end.Seen != 3 {
		t.Errorf("it was shown %d", end.Seen)
	}
	if got := seen(m); got != "A B" {
		t.Errorf("the next turn is shown %q", got)
	}
	m.State.Private = map[string]any{"decision": map[string]any{"calls": []any{
		map[string]any{"tool": "C"}, map[string]any{"tool": "D"}, map[string]any{"tool": "E"}, map[string]any{"tool": "F"},
	}}}
	decide(t, m, 2)
	if got := seen(m); got != "D E F" {
		t.Errorf("the newest are kept: %q", got)
	}
}

// A workflow can make values that nest deeper than a fact may. The call fails, and what
// is kept of it can be read.
func TestDeepValue(t *testing.T) {
	codec := protocol.NewCodec(agentfact.Facts())
	deep := any(int64(1))
	for range protocol.MaxDepth + 1 {
		deep = []any{deep}
	}
	for _, tool := range []string{"UpdatePrivateStateTool", "Nothing"} {
		m := machine(t, echo())
		m.State.Private = map[string]any{"decision": map[string]any{"calls": map[string]any{"tool": tool, "params": map[string]any{"path": "a", "value": deep}}}}
		d := decide(t, m, 1)
		raw, err := codec.Marshal(d.Facts[0])
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.ReadFact(agentfact.FactCallMade, raw)
		if call, ok := back.(*agentfact.CallMade); !ok || err != nil || call.Tool != tool || call.Error == "" {
			t.Errorf("%s: %+v, %v", tool, back, err)
		}
	}
}

// Promise 2. On the realtime clock others observe while a deliberation runs and after
// its end, and a fold reads the end of the turn later than the agent had it: whatever
// max_observations is, every turn is shown the newest that no turn was shown before,
// and a fold comes to the same.
func TestObservationsWhileATurnRuns(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(r, "max_observations")
		realtime := func(d *Definition) { d.Realtime, d.Limits.MaxObservations = true, limit }
		live, fold := machine(t, asks(1), realtime), machine(t, asks(1), realtime)
		var fresh []string // no turn was shown them
		told := 0
		tell := func(when string) {
			for range rapid.IntRange(0, 3).Draw(r, when) {
				told++
				o := Observation{Kind: strconv.Itoa(told)}
				fresh = append(fresh, o.Kind)
				live.Observe(o)
				fold.Observe(o)
			}
		}
		for n := range uint64(4) {
			tell("before")
			if _, err := live.Decide(wake(t, n)); err != nil {
				r.Fatal(err)
			}
			if got, want := names(live.turn.observations), strings.Join(fresh[max(0, len(fresh)-limit):], " "); got != want {
				r.Fatalf("turn %d is shown %q, want %q", n+1, got, want)
			}
			fresh = []string{"failure"}
			tell("while it runs")
			d, err := live.Decide(&effect.Answered{Kind: effect.KindModel, Number: 1, Err: protocol.Errorf(protocol.KindInvalid, "no")})
			if err != nil || len(d.Facts) == 0 {
				r.Fatal(d, err)
			}
			apply(t, live, d, n)
			tell("before it is merged")
			apply(t, fold, d, n)
			if got, want := seen(fold), seen(live); got != want {
				r.Fatalf("a fold shows %q, the agent had %q", got, want)
			}
		}
	})
}

// What an agent says and hears is its history, in that order, bounded.
func TestHistory(t *testing.T) {
	m := machine(t, echo(), func(d *Definition) { d.Limits.MaxHistory = 3 })
	m.Hear(event("first", 0))
	silent := event("silent", 0)
	silent.Body = protocol.NewBody(protocol.Encode(map[string]any{"n": int64(1)}))
	m.Hear(silent)
	m.State.Private = map[string]any{"response": "  hello "}
	decide(t, m, 1)
	m.Hear(event("second", 0))
	decide(t, m, 2)
	var got []string
	for _, u := range m.State.history {
		got = append(got, u.Who+":"+u.Text)
	}
	if want := []string{"bo:first", ":hello", "bo:second"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Promise 4, I5: one answer per request; late and double ones change nothing.
func TestAnswers(t *testing.T) {
	m := machine(t, asks(2))
	d, err := m.Decide(wake(t, 1))
	if err != nil || len(d.Effects) != 2 || len(d.Facts) != 0 || m.turn == nil {
		t.Fatal(d, err)
	}
	if _, err := m.Decide(wake(t, 2)); protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("woken while it deliberates: %v", err)
	}
	answer := func(n int, text string) protocol.Decision {
		d, err := m.Decide(&effect.Answered{Kind: effect.KindModel, Number: n, Model: protocol.ModelAnswer{Text: text, Finish: protocol.FinishStop, Usage: protocol.Usage{Input: 2, Output: 3}}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, n := range []int{0, 3, -1} {
		if d := answer(n, "nobody asked"); len(d.Facts) > 0 {
			t.Fatal(d)
		}
	}
	first := d.Effects[0].(*effect.Ask).Number
	second := d.Effects[1].(*effect.Ask).Number
	answer(second, "two")
	answer(second, "again")
	d = answer(first, "one")
	end := d.Facts[len(d.Facts)-1].(*agentfact.TurnEnded)
	if end.ModelCalls != 2 || end.TokensIn != 4 || end.TokensOut != 6 || m.turn != nil {
		t.Errorf("%+v", end)
	}
	if said := d.Facts[slices.IndexFunc(d.Facts, isSaid)].(*agentfact.Said).Text; said != "one,two" {
		t.Errorf("said %q", said)
	}
	if d := answer(first, "late"); len(d.Facts) > 0 {
		t.Error("a late answer decided something")
	}
}

func isSaid(f protocol.Fact) bool { return f.FactKind() == agentfact.FactSaid }

// A deliberation that is cancelled ends as such, and the agent can be woken again.
func TestCancel(t *testing.T) {
	m := machine(t, asks(1))
	if d, err := m.Decide(&Cancel{Reason: "x"}); err != nil || len(d.Facts) > 0 {
		t.Error("cancelled without a deliberation", d, err)
	}
	if _, err := m.Decide(wake(t, 1)); err != nil {
		t.Fatal(err)
	}
	d, err := m.Decide(&Cancel{Reason: "the scene ends"})
	if err != nil || len(d.Facts) == 0 {
		t.Fatal(d, err)
	}
	if end := d.Facts[len(d.Facts)-1].(*agentfact.TurnEnded); end.Outcome != agentfact.OutcomeCancelled || end.Error != "the scene ends" {
		t.Errorf("%+v", end)
	}
	apply(t, m, d, 1)
	if _, err := m.Decide(wake(t, 2)); err != nil {
		t.Errorf("it cannot be woken again: %v", err)
	}
	if _, err := m.Decide("what"); protocol.KindOf(err) != protocol.KindInternal {
		t.Error(err)
	}
}

// What the scene asks of the machine is addressed and in the order of the calls.
func TestRequests(t *testing.T) {
	m := machine(t, echo())
	m.State.Private = map[string]any{"decision": map[string]any{
		"say": "hm", "world": map[string]any{"path": "n", "op": "add", "value": int64(1)}, "events": map[string]any{"type": "a.b", "ttl_seconds": 1.5},
	}}
	cause := event("cause", protocol.High)
	cause.TraceID, cause.Chain = "t9", []protocol.Link{{Agent: "cy", Type: "a"}}
	m.Hear(event("other", protocol.Normal))
	m.Hear(cause)
	d := decide(t, m, 1)
	var to []string
	for _, r := range d.Requests {
		to = append(to, r.To)
	}
	if want := []string{bus.Service, bus.Service, worldstate.Service}; !slices.Equal(to, want) {
		t.Fatalf("%v, want %v", to, want)
	}
	draft, err := protocol.ReadDraft(d.Requests[1].Data)
	if err != nil {
		t.Fatal(err)
	}
	if draft.Source != "ada" || draft.TTL != 1500*time.Millisecond || draft.TraceID != "t9" || len(draft.Chain) != 2 || draft.Chain[1].Agent != "bo" || draft.Cause != "cause" || draft.Turn != 1 {
		t.Errorf("it is no reaction to the most urgent event: %+v", draft)
	}
	var req world.Request
	if err := req.Read(d.Requests[2].Data, nil); err != nil || req.Cause.Trace != "t9" || req.Cause.Event != "cause" || req.Cause.Turn != 1 {
		t.Errorf("%+v, %v", req.Cause, err)
	}
}

// Release gives the working memory back; the next deliberation is not disturbed
// by it.
func TestRelease(t *testing.T) {
	m := machine(t, echo())
	m.Lend(NewSpace())
	m.State.Private = map[string]any{"decision": map[string]any{"calls": []any{map[string]any{"tool": "A", "params": map[string]any{"x": "y"}}}}}
	d := decide(t, m, 1)
	kept := encoded(t, d)
	state := bytesOf(t, m)
	used := m.Release()
	if used == nil || m.Release() != nil {
		t.Fatal("the space is given back once")
	}
	other := machine(t, echo())
	other.Lend(used)
	other.State.Private = map[string]any{"decision": map[string]any{"calls": []any{map[string]any{"tool": "Bb", "params": map[string]any{"z": "other"}}}, "say": "hm"}}
	decide(t, other, 1)
	same(t, bytesOf(t, m), state, "the state of the one whose memory another has")
	again := machine(t, echo())
	used = other.Release()
	if list := used.turn.inputs[:cap(used.turn.inputs)]; slices.ContainsFunc(list, func(v any) bool { return v != nil }) || len(list) == 0 || len(used.outputs) > 0 {
		t.Errorf("the space that was given back keeps %v, %v", list, used.outputs)
	}
	again.Lend(used)
	again.State.Private = map[string]any{"decision": map[string]any{"calls": []any{map[string]any{"tool": "A", "params": map[string]any{"x": "y"}}}}}
	d = decide(t, again, 1)
	b := encoded(t, d)
	same(t, b, kept, "the decision in used memory")
}

// Promise 3: what is not in the inventory is denied and asks nobody for anything, for
// a call of the model and for the decision of a workflow alike; the next
// deliberation is told.
func TestTheInventoryIsTheAuthorisation(t *testing.T) {
	without := func(d *Definition) {
		d.Tools = slices.DeleteFunc(slices.Clone(d.Tools), func(id string) bool { return id == publish.Tool })
	}
	for name, change := range map[string]func(*Definition){"with": func(*Definition) {}, "without": without} {
		for way, private := range map[string]map[string]any{
			"a decision": {"decision": map[string]any{"events": map[string]any{"type": "a.b"}}}, "a model's text": {"response": "<|[REQUEST_TOOL]|>\ncommand:»»»PublishEventTool«««\ntype:»»»a.b«««\n<|[END_TOOL]|>"},
		} {
			m := machine(t, echo(), change)
			m.State.Private = private
			d := decide(t, m, 1)
			published, denied := 0, 0
			for _, r := range d.Requests {
				if draft, err := protocol.ReadDraft(r.Data); err == nil && draft.Type == "a.b" {
					published++
				}
			}
			for _, f := range d.Facts {
				if c, ok := f.(*agentfact.CallMade); ok && c.Status == protocol.CallDenied {
					denied++
				}
			}
			if want := map[string][2]int{"with": {1, 0}, "without": {0, 1}}[name]; [2]int{published, denied} != want {
				t.Errorf("%s, %s: %d published, %d denied, want %v", name, way, published, denied, want)
			}
			if name == "without" && !strings.Contains(seen(m), "tool_result") && seen(m) == "" {
				t.Errorf("%s: the next deliberation is told nothing", way)
			}
		}
	}
}

// Promise 2. A time-out, an answer that is too late and a failure of the model fail the
// node and are facts.
func TestModelFails(t *testing.T) {
	m := machine(t, asks(1))
	d, err := m.Decide(wake(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	d, err = m.Decide(&effect.Answered{Kind: effect.KindModel, Number: d.Effects[0].(*effect.Ask).Number, Err: protocol.Errorf(protocol.KindTimeout, "no answer in time")})
	if err != nil {
		t.Fatal(err)
	}
	answered := d.Facts[0].(*agentfact.ModelAnswered)
	end := d.Facts[len(d.Facts)-1].(*agentfact.TurnEnded)
	if answered.Error != "no answer in time" || end.Outcome != agentfact.OutcomeFailed || !strings.Contains(end.Error, "no answer in time") {
		t.Errorf("%+v %+v", answered, end)
	}
	apply(t, m, d, 1)
	if got := seen(m); got != "failure" {
		t.Errorf("observations %q", got)
	}
}

// encoded is the bytes of what was decided.
func encoded(t testing.TB, d protocol.Decision) (b []byte) {
	t.Helper()
	codec := protocol.NewCodec()
	for _, f := range d.Facts {
		raw, err := codec.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		b = append(append(b, f.FactKind()...), raw...)
	}
	for _, r := range d.Requests {
		b = append(append(b, r.To...), r.Data...)
	}
	return b
}
