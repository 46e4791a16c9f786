package pace_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/pace"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/budget"
	"tavernsim/protocol"
)

const hour = protocol.Time(time.Hour)

func TestDefaults(t *testing.T) {
	if pace.RulesOf(&profile.Profile{}) != nil {
		t.Error("a profile without the fields has rules")
	}
	r := pace.RulesOf(&profile.Profile{Idle: &profile.Idle{}, Ceilings: &profile.Ceilings{DollarsPerDay: 0.25}})
	if *r.Idle != (pace.Idling{Turns: 1, Factor: 2, Most: time.Hour}) || r.Nano != budget.Dollar/4 || r.Tokens != 0 {
		t.Errorf("%+v %+v", r, r.Idle)
	}
}

// Promise 1: the pause of known answers, and that it never shrinks and never passes its bound.
func TestPause(t *testing.T) {
	i := pace.Idling{Turns: 2, Factor: 3, Most: 20 * time.Second}
	for n, want := range []time.Duration{0, 0, 3, 9, 20, 20} {
		if got := i.Pause(int64(n), time.Second); got != want*time.Second {
			t.Errorf("%d turns: %s, want %ds", n, got, want)
		}
	}
	if i.Pause(5, time.Minute) != 0 || i.Pause(5, 0) != 0 || (&pace.Idling{Turns: 1, Factor: 1, Most: time.Hour}).Pause(1<<40, time.Second) != time.Second {
		t.Error("a pause that is longer already stays, and so does one that does not grow")
	}
	rapid.Check(t, func(t *rapid.T) {
		i := pace.Idling{Turns: rapid.Int64Range(1, 5).Draw(t, "turns"), Factor: rapid.Float64Range(1, 1000).Draw(t, "factor"), Most: time.Duration(rapid.Int64Range(1, 1<<61).Draw(t, "most"))}
		period, n := time.Duration(rapid.Int64Range(1, 1<<40).Draw(t, "period")), rapid.Int64Range(0, 100).Draw(t, "n")
		a, b := i.Pause(n, period), i.Pause(n+1, period)
		if a > b || b > i.Most || a < 0 {
			t.Fatalf("after %d turns %s, after one more %s, of %s", n, a, b, i.Most)
		}
	})
}

func answered(tokens, nano int64) *agentfact.ModelAnswered {
	return &agentfact.ModelAnswered{Input: tokens, Origin: &effect.Origin{Endpoint: "near", Cost: nano}}
}

// turn decides and folds a turn.
func turn(t *testing.T, k *pace.Kept, r *pace.Rules, end agentfact.TurnEnded, now protocol.Time, sleep pace.Sleep, facts ...protocol.Fact) (*pace.Kept, *agentfact.Rests, agentfact.TurnEnded) {
	t.Helper()
	f := k.Decide(r, facts, &end, false, time.Minute, sleep, now)
	for _, x := range facts {
		if m, ok := x.(*agentfact.ModelAnswered); ok {
			k = k.Paid(r, m, now)
		}
	}
	if f != nil {
		var err error
		if k, err = k.Rests(f); err != nil {
			t.Fatal(err)
		}
	}
	return k.Ended(), f, end
}

// Promise 1: what counts as nothing.
func TestIdle(t *testing.T) {
	r := pace.RulesOf(&profile.Profile{Idle: &profile.Idle{}})
	nothing := agentfact.TurnEnded{Outcome: agentfact.OutcomeOK}
	var k *pace.Kept
	for n, c := range []struct {
		end   agentfact.TurnEnded
		idle  int64
		pause time.Duration
	}{
		{nothing, 1, 2 * time.Minute}, {nothing, 2, 4 * time.Minute}, {agentfact.TurnEnded{Outcome: agentfact.OutcomeIdle}, 2, 0}, {nothing, 3, 8 * time.Minute},
		{agentfact.TurnEnded{Outcome: agentfact.OutcomeOK, Calls: 1}, 0, 0}, {nothing, 1, 2 * time.Minute},
		{agentfact.TurnEnded{Outcome: agentfact.OutcomeFailed}, 0, 0}, {nothing, 1, 2 * time.Minute},
		{agentfact.TurnEnded{Outcome: agentfact.OutcomeOK, Reflections: 1}, 0, 0}, {nothing, 1, 2 * time.Minute}, {agentfact.TurnEnded{Outcome: agentfact.OutcomeOK, Changed: true}, 0, 0},
	} {
		next, f, end := turn(t, k, r, c.end, hour, pace.Sleep{})
		idle := int64(0)
		if f != nil {
			idle = f.Idle
		}
		if idle != c.idle || c.pause > 0 && (!end.Asleep || end.SleepUntil != hour.Add(c.pause) || end.WakeAbove != protocol.Low) || c.pause == 0 && end.Asleep {
			t.Errorf("turn %d: %+v %+v", n, f, end)
		}
		k = next
	}
	if k != nil {
		t.Errorf("something is kept of an agent that is not idle: %+v", k)
	}
}

// Promises 2 and 3: at which ceiling it rests, and until when.
func TestCeilings(t *testing.T) {
	r := pace.RulesOf(&profile.Profile{Ceilings: &profile.Ceilings{TokensPerHour: 100, DollarsPerDay: 1}})
	var k *pace.Kept
	for n, c := range []struct {
		at           protocol.Time
		tokens, nano int64
		until        protocol.Time
		ceiling      string
	}{
		{0, 99, 0, 0, ""}, {1, 1, 0, hour, pace.TokensPerHour}, {hour, 250, 0, 3 * hour, pace.TokensPerHour}, {3 * hour, 10, budget.Dollar - 1, 0, ""},
		{4 * hour, 500, budget.Dollar * 2, 48 * hour, pace.DollarsPerDay}, // a nano-dollar less than 3 on the first day
		{72 * hour, 0, 0, 0, ""},
	} {
		next, f, _ := turn(t, k, r, agentfact.TurnEnded{Outcome: agentfact.OutcomeOK, Calls: 1}, c.at, pace.Sleep{}, answered(c.tokens, c.nano))
		if f == nil && c.until != 0 || f != nil && (f.Until != c.until || f.Ceiling != c.ceiling) {
			t.Errorf("turn %d: %+v, want until %s", n, f, c.until)
		}
		if f != nil && pace.Observed(f)["ceiling"] != c.ceiling {
			t.Errorf("turn %d: it observes %v", n, pace.Observed(f))
		}
		k = next
	}
	saved := answered(5000, 0)
	saved.Origin.Budget = &protocol.ModelBudget{Saved: true}
	if k := (*pace.Kept)(nil).Paid(r, saved, 0); k.Hour.Used != 5000 {
		t.Errorf("a recorded answer counts %d", k.Hour.Used)
	}
}

// What wakes early is kept from the end of a turn to the end of the next, also in a snapshot.
func TestSleepIsKept(t *testing.T) {
	asked, err := pace.Ask(tool.Params{"seconds": 5.0, "wake_types": []any{"b", "a.*", "b"}, "wake_when": "world.open"}, false)
	if err != nil || asked.For != 5*time.Second || asked.Above != protocol.High || strings.Join(asked.Types, " ") != "a.* b" {
		t.Fatal(asked, err)
	}
	k, f, _ := turn(t, nil, nil, agentfact.TurnEnded{Outcome: agentfact.OutcomeOK, Calls: 1, Asleep: true}, 0, asked.Sleep)
	if f == nil || f.WakeWhen != "world.open" {
		t.Fatal(f)
	}
	restored, err := (&pace.Kept{Types: k.Types, When: k.When}).Sealed()
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []*pace.Kept{k, restored} {
		s := kept.Asleep()
		if got := s.Watched([]string{"z"}); strings.Join(got, " ") != "open z" {
			t.Error(got)
		}
		if !s.When.Holds(env{"world": map[string]any{"open": true}}) || s.When.Holds(env{"world": map[string]any{"open": false}}) || s.When.Holds(env{}) {
			t.Error("the condition holds when it does not, or fails")
		}
		events := []*protocol.Envelope{{EventHeader: protocol.EventHeader{Type: "a.x", Priority: protocol.Low}}, {EventHeader: protocol.EventHeader{Type: "c", Priority: protocol.High}}, {EventHeader: protocol.EventHeader{Type: "c", Priority: protocol.Low}}}
		if n := s.Waking(events, protocol.High); n != 2 {
			t.Errorf("%d events wake", n)
		}
		if s.Look(false, 7, env{}) != 7 || s.Look(true, 7, env{}) != 0 {
			t.Error("it looks once, and then when the world changes")
		}
	}
	if k, f, _ = turn(t, k, nil, agentfact.TurnEnded{Outcome: agentfact.OutcomeOK}, 0, pace.Sleep{}); k != nil || f != nil {
		t.Error(k, f)
	}
}

// A sleep forgets the condition of the one before, in the running agent as in a restored one.
func TestALaterSleepIsAnother(t *testing.T) {
	first, err := pace.Ask(tool.Params{"seconds": 5.0, "wake_when": "world.open"}, false)
	if err != nil {
		t.Fatal(err)
	}
	ok := agentfact.TurnEnded{Outcome: agentfact.OutcomeOK, Calls: 1, Asleep: true}
	k, _, _ := turn(t, nil, nil, ok, 0, first.Sleep)
	k, _, _ = turn(t, k, nil, ok, 0, pace.Sleep{Types: []string{"a"}})
	if s := k.Asleep(); s.When.Expr != "" || strings.Join(s.Types, " ") != "a" {
		t.Errorf("it still waits for %q", s.When.Expr)
	}
}

type env map[string]any

func (e env) Lookup(root string) (any, bool) { v, ok := e[root]; return v, ok }

func TestBadSleep(t *testing.T) {
	many := []any{}
	for i := range pace.MaxTypes + 1 {
		many = append(many, "t"+strings.Repeat("x", i))
	}
	for _, zero := range []bool{false, true} { // as older programs read it
		if asked, err := pace.Ask(tool.Params{"seconds": int64(0)}, zero); (err == nil) != zero || asked.For != 0 {
			t.Errorf("%v: %+v %v", zero, asked, err)
		}
	}
	if asked, err := pace.Ask(tool.Params{"seconds": 1e-10}, false); err != nil || asked.For != 1 {
		t.Errorf("a time below the smallest: %+v %v", asked, err)
	}
	for want, p := range map[string]tool.Params{
		"seconds -1": {"seconds": -1.0},
		"seconds 0: want more than 0 and at most 3153600000, or leave it out": {"seconds": int64(0)},
		"wake_when: expr: line 1":    {"wake_when": "1 +"},
		`unknown name "event"`:       {"wake_when": "event.type == 'a'"},
		`wake_types: "" is empty`:    {"wake_types": ""},
		"the limit is 32":            {"wake_types": many},
		`"a.*.b" holds a star`:       {"wake_types": []any{"a.*.b"}},
		"priority":                   {"wake_on": "loud"},
		"the limit of an expression": {"wake_when": strings.Repeat("1+", 5000) + "1"},
	} {
		if _, err := pace.Ask(p, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", p, err, want)
		}
	}
}
