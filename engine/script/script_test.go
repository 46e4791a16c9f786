package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/bus"
	"tavernsim/engine/bus/eventtype"
	"tavernsim/engine/cast"
	"tavernsim/engine/expr"
	"tavernsim/engine/order"
	"tavernsim/engine/script"
	"tavernsim/engine/script/plot"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// members is a scene of six agents: a0 and a1 speak, the others judge.
type members struct{}

func (members) Size() int            { return 6 }
func (members) Name(o uint32) string { return fmt.Sprint("a", o) }
func (members) Ordinal(id string) (o uint32, ok bool) {
	_, err := fmt.Sscanf(id, "a%d", &o)
	return o, err == nil && o < 6
}
func (members) Groups() (roles, profiles map[string]any) {
	return map[string]any{"speaker": int64(2), "judge": int64(4)}, map[string]any{"p": int64(6)}
}
func (c members) Members(of cast.Selectors) (list []uint32) {
	for o := range uint32(6) {
		m := cast.Member{Instance: c.Name(o), Profile: "p", Roles: []string{"judge"}}
		if o < 2 {
			m.Roles[0] = "speaker"
		}
		if of.Match(&m) {
			list = append(list, o)
		}
	}
	return list
}

func checks() script.Checks {
	return script.Checks{
		Selector: func(text string) string {
			if one, err := cast.Parse(text); err != nil || len(members{}.Members(cast.Selectors{one})) == 0 {
				return "no agent is " + text
			}
			return ""
		},
		Change:    order.Check,
		Workflow:  func(_ []any, ref string, _ []string, _ bool) string { return ref },
		Schema:    func(any, []any) func(any) error { return number },
		EventType: eventtype.Check,
	}
}

// number is a schema of answers.
func number(v any) error {
	if m, ok := v.(map[string]any); ok && m["choice"] != nil {
		return nil
	}
	return fmt.Errorf("want a choice")
}

func compile(t testing.TB, text string) (*script.Program, []script.Fault) {
	t.Helper()
	report := &source.Report{}
	doc := source.Parse("script.yaml", []byte(text), source.Limits{}, report)
	def := &plot.Definition{}
	if doc == nil || !(&source.Decoder{Rules: plot.Rules(), Report: report}).Decode(doc, def) {
		t.Fatal(report.Err())
	}
	return script.Compile(def, checks())
}

func program(t testing.TB, text string) *script.Machine {
	t.Helper()
	p, faults := compile(t, text)
	if p == nil {
		t.Fatal(faults)
	}
	return &script.Machine{Program: p, Cast: members{}, Seed: 7}
}

const debate = `
variables: {n: 0, word: tea}
start: talk
states:
  - id: talk
    context: "We talk of {{.vars.word}} in {{.state}}."
    active: ["role:speaker"]
    on_enter: [{set: {n: "=vars.n + 1"}}, {set: {word: "=vars.word + vars.n"}}, {publish: {type: talk.opened, payload: "=vars.word"}}]
    on_leave: [{set: {word: tea}}]
    transitions: [{to: vote, on: talk.ended, if: "event.payload === 'now'"}, {to: vote, when: "vars.n > 2"}, {to: talk, after: 10s}]
  - id: vote
    active: ["role:judge"]
    collect: [{id: ballot, event: ballot.cast, from: ["role:judge"], schema: {}, secret: true, tally: choice, until: {share: 0.75, after: 5s}}]
    transitions: [{to: closed, when: "!collected.ballot.open"}]
  - id: closed
    on_enter: [{end: {outcome: "='by ' + collected.ballot.winner", winners: "=[collected.ballot.winner]"}}]
schedules: [{id: bell, every: 4s, in: [talk], do: [{publish: {type: bell}}]}, {id: six, cron: "0 0 6 * * *", do: [{set: {word: dawn}}]}]
outcome: {outcome: nothing}
`

// play looks at waves of the events, a second each, and prints what was decided. It holds
// each look to promise 1.
func play(t testing.TB, m *script.Machine, waves ...[]*bus.Routed) (*script.State, string) {
	t.Helper()
	codec, s := protocol.NewCodec(script.Facts()), script.New(m.Program)
	var b strings.Builder
	for i, events := range waves {
		at := protocol.Time(i) * protocol.Time(time.Second)
		in := &script.Input{Now: at, Wave: uint64(i + 1), Events: events, Roots: expr.Map{"world": map[string]any{}, "scene": map[string]any{}}}
		s = look(t, codec, m, s, in, &b)
	}
	return s, b.String()
}

func look(t testing.TB, codec *protocol.Codec, m *script.Machine, s *script.State, in *script.Input, b *strings.Builder) *script.State {
	t.Helper()
	before, err := s.Snapshot(codec)
	if err != nil {
		t.Fatal(err)
	}
	d, err := m.Look(s, in)
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := s.Snapshot(codec); string(after) != string(before) {
		t.Fatal("a look changed the state")
	}
	restored, err := script.Restore(codec, before)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.Look(restored, in)
	if err != nil || len(again.Facts) != len(d.Facts) || len(again.Do) != len(d.Do) {
		t.Fatalf("%v of a snapshot, %v, %v", again, d, err)
	}
	entered := 0
	for i, f := range d.Facts {
		raw, err := codec.Marshal(f)
		other, _ := codec.Marshal(again.Facts[i])
		if err != nil || string(raw) != string(other) {
			t.Fatalf("%v, of a snapshot %v: %v", f, again.Facts[i], err)
		}
		read, err := codec.ReadFact(f.FactKind(), raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(read.(script.Fact), in.Wave, in.Now); err != nil {
			t.Fatal(err)
		}
		if _, ok := f.(*script.Entered); ok {
			entered++
		}
		if b != nil {
			fmt.Fprintf(b, "%d %s\n", in.Wave, strings.TrimPrefix(fmt.Sprintf("%T %+v", f, f), "*script."))
		}
	}
	if entered > 1 {
		t.Fatalf("wave %d: %d transitions", in.Wave, entered)
	}
	for _, q := range d.Do {
		if b != nil {
			fmt.Fprintf(b, "%d asks %v\n", in.Wave, q.Change)
		}
	}
	return s
}

func event(typ, by string, payload any) *bus.Routed {
	return &bus.Routed{EventHeader: protocol.EventHeader{ID: "e-" + by, Type: typ, Source: by}, Body: protocol.Encode(payload)}
}

func ballot(by, choice string) *bus.Routed {
	return event("ballot.cast", by, map[string]any{"choice": choice})
}

func holds(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}

// Promises 1 and 2: equal inputs give equal decisions, and a look takes at most one transition.
func TestScript(t *testing.T) {
	none := []*bus.Routed(nil)
	s, got := play(t, program(t, debate), none, []*bus.Routed{event("talk.ended", "a0", "later")}, []*bus.Routed{event("talk.ended", "a0", "now")},
		[]*bus.Routed{ballot("a2", "x"), ballot("a0", "y"), ballot("a2", "y")}, []*bus.Routed{ballot("a3", "y"), event("ballot.cast", "a4", "none")},
		[]*bus.Routed{ballot("a5", "y")}, []*bus.Routed{ballot("a4", "x")}, none)
	holds(t, got, "1 Entered &{State:talk From: Why:start}", "1 Set &{Variable:n", "1 asks map[publish:map[payload:tea1 type:talk.opened]]",
		"3 Entered &{State:vote From:talk Why:transition 1}", "3 Opened &{Collection:ballot State:vote Asked:[{From:2 Count:4}] Due:1970-01-01T00:00:07Z}",
		"4 Answered &{Collection:ballot Agent:2", "4 Refused &{Collection:ballot By:a2 Event:e-a2 Code:conflict", "5 Refused &{Collection:ballot By:a4 Event:e-a4 Code:invalid",
		"6 Closed &{Collection:ballot Why:share Asked:4 Answers:3 Winner:y}", "6 Entered &{State:closed From:vote Why:transition 1}", "6 Outcome &{Outcome:by y Winners:[y] Reason: Ends:true}")
	if strings.Contains(got, "\n7 ") || strings.Contains(got, "\n2 ") || s.Outcome == nil {
		t.Error(got)
	}
}

// A state is entered again after its time, schedules fire in their states only, a collection
// closes at its time, and late answers are refused.
func TestTimes(t *testing.T) {
	waves := make([][]*bus.Routed, 40)
	waves[31] = []*bus.Routed{ballot("a2", "x")}
	m := program(t, debate+"") // talk begins anew at 10 s and 20 s; n is 3 then
	s, got := play(t, m, waves...)
	holds(t, got, "5 Fired &{Schedule:bell Moment:1970-01-01T00:00:04Z}", "11 Entered &{State:talk From:talk Why:transition 3}", "21 Entered &{State:talk From:talk",
		"22 Entered &{State:vote From:talk Why:transition 2}", "27 Closed &{Collection:ballot Why:after Asked:4 Answers:0 Winner:}", "27 Entered &{State:closed")
	if strings.Contains(got, "Schedule:six") || m.Next(s, 0, 0, 0, time.Second) != 0 {
		t.Error(got)
	}
	holds(t, got, "27 Outcome &{Outcome:by null Winners:[] Reason: Ends:true}")
}

// Promise 3: whatever comes, a collection counts each agent that it asked once at most, with
// its first sound answer, and none after it was closed. Promise 2 with it.
func TestCollectionAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 6).Draw(t, "count")
		p, faults := script.Compile(&plot.Definition{States: []plot.StateDefinition{{ID: "s", Collect: []plot.Collect{{ID: "c", Event: "e", From: []string{"role:judge"}, Schema: true, Until: plot.Until{Count: int64(count)}}}}}}, checks())
		if p == nil {
			t.Fatal(faults)
		}
		m, codec := &script.Machine{Program: p, Cast: members{}}, protocol.NewCodec(script.Facts())
		s, want, open := script.New(p), map[uint32]string{}, true
		for wave := range uint64(rapid.IntRange(2, 8).Draw(t, "waves")) {
			in := &script.Input{Wave: wave + 1, Now: protocol.Time(wave), Roots: expr.Map{}}
			if wave > 0 {
				for range rapid.IntRange(0, 4).Draw(t, "events") {
					o := uint32(rapid.IntRange(0, 5).Draw(t, "agent"))
					choice := rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "choice")
					e := ballot(fmt.Sprint("a", o), choice)
					if e.Type = "e"; choice == "" {
						e.Body = protocol.Encode("nonsense")
					}
					in.Events = append(in.Events, e)
					if _, twice := want[o]; open && o >= 2 && choice != "" && !twice {
						want[o] = choice
					}
				}
			}
			var b strings.Builder
			s = lookIn(t, codec, m, s, in, &b)
			if wave > 0 && (len(want) >= count || len(want) == 4) {
				open = false
			}
		}
		c := s.Asked["c"]
		if c.Open() != open || len(c.Answers) != len(want) {
			t.Fatalf("open %v with %d answers, want %v with %v", c.Open(), len(c.Answers), open, want)
		}
		for i, a := range c.Answers {
			v, _ := a.Value.Value()
			if i > 0 && c.Answers[i-1].Agent >= a.Agent || v.(map[string]any)["choice"] != want[a.Agent] {
				t.Fatalf("%v, want %v", c.Answers, want)
			}
		}
	})
}

func lookIn(t *rapid.T, codec *protocol.Codec, m *script.Machine, s *script.State, in *script.Input, _ *strings.Builder) *script.State {
	d, err := m.Look(s, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Facts {
		if err := s.Apply(f, in.Wave, in.Now); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := s.Snapshot(codec)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = script.Restore(codec, raw); err != nil {
		t.Fatal(err)
	}
	return s
}

// Promise 4: what fails is recorded and stops nothing.
func TestFailures(t *testing.T) {
	m := program(t, `
variables: {a: 1, b: 2}
states:
  - id: s
    on_enter: [{set: {a: "=vars.no.such"}}, {set: {b: 3}}]
    transitions: [{to: s, when: "vars.no.such"}, {to: t, when: "vars.b === 3"}]
  - {id: t, on_enter: [{publish: {type: x, payload: {a: {b: ["=vars.b", "==raw"]}}}}], transitions: [{to: s}]}
`)
	_, got := play(t, m, nil, nil)
	holds(t, got, "1 Failed &{Where:states[0].on_enter[0].set Error:", "1 Set &{Variable:b", "2 Entered &{State:t From:s Why:transition 2}", `asks map[publish:map[payload:map[a:map[b:[3 =raw]]] type:x]]`)
}

// Promise 5: a fault names the place, what is wrong and the bound.
func TestFaults(t *testing.T) {
	many := "states: [" + strings.Repeat("{id: s, transitions: [{to: s}]}, ", 3) + "]"
	for text, want := range map[string]string{
		"states: [{id: a, transitions: [{to: b}]}]":                       "[states 0 transitions 0 to] there is no state \"b\"",
		"states: [{id: a}, {id: b}]":                                      "[states 1 id] no transition leads to the state \"b\" from the start \"a\"",
		many:                                                              "the state \"s\" is given twice",
		"start: x\nstates: [{id: a}]":                                     "[start] there is no state \"x\"",
		"states: [{id: a, active: [\"role:cook\"]}]":                      "no agent is role:cook",
		"states: [{id: a, on_enter: [{set: {x: 1}}]}]":                    "there is no variable \"x\"",
		"states: [{id: a, on_enter: [{travel: {}}]}]":                     "received no agents",
		"states: [{id: a, on_enter: [{ask: {action: text, result: x}}]}]": "[states 0 on_enter 0 ask result] there is no variable \"x\"",
		"variables: {x: y}\nstates: [{id: a, on_enter: [{ask: {action: text, result: \"=vars.x\"}}]}]":     "result is no expression",
		"variables: {x: y}\nstates: [{id: a, on_enter: [{run: {workflow: \"=vars.x\"}}]}]":                 "workflow is no expression",
		"states: [{id: a, on_enter: [{run: {inputs: {}}}]}]":                                               "received no workflow",
		"states: [{id: a, on_enter: [{transition: {to: a}}]}]":                                             "does not change the state of its own script",
		"states: [{id: a, on_enter: [{dance: {}}]}]":                                                       "there is no such change",
		"states: [{id: a, on_enter: [{publish: {type: x, too: 1}}]}]":                                      "too",
		"states: [{id: a, on_enter: [{publish: {payload: 1}}]}]":                                           "received no type",
		"states: [{id: a, on_enter: [{publish: {type: \"=vars.a +\"}}]}]":                                  "does not compile",
		"states: [{id: a, transitions: [{to: a, if: \"true\"}]}]":                                          "which is missing",
		"states: [{id: a, transitions: [{to: a, when: \"nobody.x\"}]}]":                                    "does not compile",
		"states: [{id: a, context: \"{{.world}}\"}]":                                                       "world",
		"states: [{id: a}]\nschedules: [{id: s, do: []}]":                                                  "want one of every, at, cron",
		"states: [{id: a}]\nschedules: [{id: s, cron: \"* * * * *\", do: []}]":                             "want six fields",
		"states: [{id: a}]\nschedules: [{id: s, cron: \"TZ=0 * * * * *\", do: []}]":                        "want six fields",
		"states: [{id: a}]\nschedules: [{id: s, cron: \"*/0 * * * * *\", do: []}]":                         "cron",
		"states: [{id: a}]\nschedules: [{id: s, every: 1s, in: [b], do: []}]":                              "there is no state \"b\"",
		"states: [{id: a}]\noutcome: {outcome: 5}":                                                         "want the name of an outcome",
		"states: [{id: a, collect: [{id: c, event: e, from: [\"*\"]}, {id: c, event: f, from: [\"*\"]}]}]": "the collection \"c\" is given twice",
		"variables: {v: " + strings.Repeat("x", script.MaxValue) + "}\nstates: [{id: a}]":                  "a variable has at most 65536",
		"states: [{id: " + strings.Repeat("x", 201) + "}]":                                                 "an id has at most 200",
	} {
		p, faults := compile(t, text)
		if p != nil || !slices.ContainsFunc(faults, func(f script.Fault) bool { return strings.Contains(fmt.Sprint(f.Steps, " ", f.Message), want) }) {
			t.Errorf("%.90s: %v, want %q", text, faults, want)
		}
	}
	for text, want := range map[string]string{
		"schedules: [{id: s, every: 1m, do: []}]":                                                             "[schedules 0 do] the schedule does nothing",
		"schedules: [{id: s, every: 1m, do: [{world: {path: a}}]}]":                                           "[schedules 0 do 0 world] set needs a value; null is one",
		"schedules: [{id: s, every: 1m, do: [{private_state: {agent: ada, path: a, op: add, reason: why}}]}]": "[schedules 0 do 0 private_state] add needs a value",
	} {
		p, faults := compile(t, "states: [{id: a, transitions: [{to: a, after: 1h}]}]\n"+text)
		if p == nil || len(faults) != 1 || !faults[0].Strict || fmt.Sprint(faults[0].Steps, " ", faults[0].Message) != want {
			t.Errorf("%s: %v, want %q", text, faults, want)
		}
	}
	for _, cron := range []string{", * * * * *", "0 0 0 * ,, *", "0 0 0 30 2 *"} {
		p, faults := compile(t, "states: [{id: a, transitions: [{to: a, after: 1h}]}]\nschedules: [{id: s, cron: \""+cron+"\", do: [{say: {text: hi}}]}]")
		if p == nil || len(faults) != 1 || !faults[0].Warning || !strings.Contains(faults[0].Message, "never comes") {
			t.Errorf("%s: %v", cron, faults)
		}
	}
	if p, faults := compile(t, "states: [{id: a}]"); p == nil || len(faults) != 1 || !faults[0].Warning || !strings.Contains(faults[0].Message, "no way out") {
		t.Errorf("a state without a way out: %v", faults)
	}
}

// What somebody outside wants goes before the script's own transitions.
func TestGiven(t *testing.T) {
	m := program(t, debate)
	s, codec := script.New(m.Program), protocol.NewCodec(script.Facts())
	var b strings.Builder
	roots := expr.Map{"world": nil, "scene": nil}
	s = look(t, codec, m, s, &script.Input{Wave: 1, Roots: roots}, nil)
	s = look(t, codec, m, s, &script.Input{Wave: 2, Now: 1, Roots: roots, Given: []script.Given{{Set: map[string]any{"n": int64(9)}, To: "closed", Why: "order o"}}}, &b)
	holds(t, b.String(), "Set &{Variable:n", "Entered &{State:closed From:talk Why:order o}")
	if err := m.Check(map[string]any{"nope": 1}, ""); protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
	if err := m.Check(nil, "nope"); protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
	look(t, codec, m, s, &script.Input{Wave: 3, Now: 2, Roots: roots, Ending: true}, &b)
	holds(t, b.String(), "Outcome &{Outcome:nothing")
}

// A secret is in no text that is shown, and its events have no other receiver.
func TestSecret(t *testing.T) {
	m := program(t, debate)
	s, _ := play(t, m, nil, []*bus.Routed{event("talk.ended", "a0", "now")}, []*bus.Routed{ballot("a2", "x")})
	if got := m.Secrets(s); !slices.Equal(got, []string{"ballot.cast"}) {
		t.Error(got)
	}
	if r := m.Report(s); len(r) != 1 || !r[0].Hidden || len(r[0].Values)+len(r[0].Counts) > 0 || len(r[0].Answers) != 1 {
		t.Errorf("%+v", r)
	}
}

// The text of a state names what it is made of.
func TestContext(t *testing.T) {
	m := program(t, debate)
	s, _ := play(t, m, nil)
	if text, err := m.Context(s); err != nil || text != "We talk of tea1 in talk." {
		t.Error(text, err)
	}
}

// Who won what is closed is in its fact: a run that is forked behind it with another seed has the same.
func TestClosedKeepsItsWinner(t *testing.T) {
	for rules, answers := range map[string][]*bus.Routed{
		"tally: choice, voting: {method: plurality}": {ballot("a2", "x"), ballot("a3", "y"), ballot("a4", "x"), ballot("a5", "y")},
		"tally: choice": {ballot("a2", "x"), ballot("a3", "y"), ballot("a4", "x"), ballot("a5", "y")},
		"auction: {price: second}": {
			event("ballot.cast", "a2", map[string]any{"amount": int64(9)}), event("ballot.cast", "a3", map[string]any{"amount": int64(9)}),
			event("ballot.cast", "a4", map[string]any{"amount": int64(9)}), event("ballot.cast", "a5", map[string]any{"amount": int64(1)}),
		},
	} {
		text := "states: [{id: s, collect: [{id: v, event: ballot.cast, from: [\"role:judge\"], " + rules + "}], transitions: [{to: s, after: 1000h}]}]"
		m := program(t, text)
		s, _ := play(t, m, nil, answers, nil)
		want := m.Report(s)[0]
		if want.Winner == "" {
			t.Fatalf("%s: nobody won", rules)
		}
		for seed := range uint64(8) {
			fork := program(t, text)
			fork.Seed = seed
			if got := fork.Report(s)[0]; fmt.Sprint(got.Result) != fmt.Sprint(want.Result) {
				t.Errorf("%s: with seed %d %v, before %v", rules, seed, got.Result, want.Result)
			}
		}
	}
}
