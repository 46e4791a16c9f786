package throttle

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

const begin = protocol.Time(946684800_000000000)

func at(seconds float64) protocol.Time {
	return begin.Add(time.Duration(seconds * float64(time.Second)))
}

// take judges and counts one event, and says what became of it.
func take(t *Table, eventType, source string, now protocol.Time) Verdict {
	v := t.Judge(eventType, source, now)
	if v.Action != Drop {
		t.Take(eventType, source, now)
	}
	return v
}

// Promises 1 and 3: what a window lets through, and which of several rules counts.
func TestRules(t *testing.T) {
	second := func(r Rule) Rule { r.Window = time.Second; return r }
	for _, c := range []struct {
		name  string
		rules []Rule
		takes []string // "source type" every tenth of a second
		want  []Action
	}{
		{"per type", []Rule{second(Rule{Type: "a.*", Max: 1})}, []string{"x a.b", "y a.b", "x a.c", "x b"}, []Action{"", Drop, "", ""}},
		{"per source", []Rule{second(Rule{Type: "*", Per: PerSource, Max: 1})}, []string{"x a", "x b", "y a", "x a"}, []Action{"", Drop, "", Drop}},
		{"per scene", []Rule{second(Rule{Type: "a", Per: PerScene, Max: 2})}, []string{"x a", "y a", "z a"}, []Action{"", "", Drop}},
		{"one source", []Rule{second(Rule{Type: "a", Source: "x", Max: 0, Action: Deprioritize})}, []string{"x a", "y a"}, []Action{Deprioritize, ""}},
		{"the worst counts", []Rule{second(Rule{Type: "a", Max: 1, Action: Deprioritize}), second(Rule{Type: "*", Max: 1}), second(Rule{Type: "a", Max: 1, Action: Delay})},
			[]string{"x a", "x a"}, []Action{"", Drop}},
		{"a delay counts before a lower priority", []Rule{second(Rule{Type: "a", Max: 1, Action: Deprioritize}), second(Rule{Type: "*", Max: 1, Action: Delay})},
			[]string{"x a", "x a"}, []Action{"", Delay}},
		{"a rule that has ended", []Rule{second(Rule{Type: "a", Max: 0, Until: at(0.15)})}, []string{"x a", "x a", "x a"}, []Action{Drop, Drop, ""}},
	} {
		table, got := New(c.rules, 3), []Action{}
		for i, e := range c.takes {
			got = append(got, take(table, e[2:], e[:1], at(float64(i)/10)).Action)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Promise 2. TestDelay: what finds its window full goes to the next that has room.
func TestDelay(t *testing.T) {
	table := New([]Rule{{Type: "a", Max: 2, Window: 10 * time.Second, Action: Delay}}, 1)
	for i, want := range []protocol.Time{0, 0, at(10), at(10), at(20)} {
		if v := take(table, "a", "x", at(1)-protocol.Time(time.Second)); v.Until != want {
			t.Errorf("event %d: until %v, want %v", i, v.Until, want)
		}
	}
	for range 2*(MaxWindows+1) - 5 {
		take(table, "a", "x", begin)
	}
	if v := take(table, "a", "x", begin); v.Action != Drop {
		t.Errorf("more than %d windows ahead: %+v", MaxWindows, v)
	}
	if v := take(table, "a", "x", at(10*(MaxWindows+2))); v.Action != "" {
		t.Errorf("after all of them: %+v", v)
	}
}

// Promise 3: of several delays the latest counts.
func TestTheLatestDelay(t *testing.T) {
	short, long := Rule{Type: "a", Max: 1, Window: time.Second, Action: Delay}, Rule{Type: "*", Max: 1, Window: time.Minute, Action: Delay}
	for _, rules := range [][]Rule{{short, long}, {long, short}} {
		table := New(rules, 2)
		take(table, "a", "x", begin)
		if v := take(table, "a", "x", begin); v.Action != Delay || v.Until != at(60) {
			t.Errorf("%+v", v)
		}
	}
}

// Promise 5: beyond its keys a rule counts everything else together.
func TestTooManyKeysShareOne(t *testing.T) {
	table := New([]Rule{{Type: "*", Max: 1, Window: time.Second}}, 0)
	table.keys = 2
	for i, c := range []struct {
		eventType string
		now       protocol.Time
		want      Action
	}{{"a", begin, ""}, {"b", begin, ""}, {"c", begin, ""}, {"d", begin, Drop}, {"a", begin, Drop}, {"d", at(1), ""}, {"c", at(1), ""}, {"c", at(1.5), Drop}} {
		if got := take(table, c.eventType, "x", c.now).Action; got != c.want {
			t.Errorf("%d: %s: %q, want %q", i, c.eventType, got, c.want)
		}
	}
	if n := len(table.rules[0].counts); n > 3 {
		t.Errorf("%d counters", n)
	}
}

func TestSet(t *testing.T) {
	table := New([]Rule{{Type: "a", Max: 5, Window: time.Second}}, 1)
	table.Set(Rule{Type: "b", Max: 1, Window: time.Second}, begin)
	table.Set(Rule{Type: "b", Max: 2, Window: time.Second}, begin)
	table.Set(Rule{Type: "c", Max: 2, Window: time.Second, Until: at(1)}, begin)
	if got := table.Rules(); len(got) != 2 || got[0].Max != 2 {
		t.Errorf("%+v", got)
	}
	table.Set(Rule{Type: "d", Max: 2, Window: time.Second}, at(1))
	table.Remove(Rule{Type: "b"})
	if got := table.Rules(); len(got) != 1 || got[0].Type != "d" || table.Has(Rule{Type: "a"}) || !table.Has(Rule{Type: "d"}) {
		t.Errorf("%+v", got)
	}
	for i := range MaxRules - 1 {
		table.Set(Rule{Type: string(rune(200 + i)), Max: 1, Window: time.Second}, begin)
	}
	if !table.Full(begin) {
		t.Error("there is room for more than MaxRules")
	}
}

func TestCheck(t *testing.T) {
	sound := Rule{Type: "a", Max: 1, Window: time.Second}
	if field, fault := sound.Check(); fault != "" {
		t.Error(field, fault)
	}
	for want, change := range map[string]func(*Rule){
		"type":           func(r *Rule) { r.Type = "" },
		"per":            func(r *Rule) { r.Per = "day" },
		"action":         func(r *Rule) { r.Action = "shout" },
		"max":            func(r *Rule) { r.Max, r.Action = 0, Delay },
		"window_seconds": func(r *Rule) { r.Window = 0 },
	} {
		r := sound
		change(&r)
		if field, fault := r.Check(); field != want || fault == "" {
			t.Errorf("%s: %q %q", want, field, fault)
		}
	}
}

// naive keeps every event that it let through, with its moment.
type naive struct {
	rules []Rule
	taken map[string][]protocol.Time // by rule and key: starts of windows, one per event
}

func (n *naive) judge(eventType, source string, now protocol.Time) (v Verdict, take func()) {
	var done []func()
	for i, r := range n.rules {
		if !r.covers(eventType, source, now) {
			continue
		}
		key := string(rune('0'+i)) + r.key(eventType, source)
		starts := n.taken[key]
		start := now
		if k := len(starts); k > 0 && now < starts[k-1].Add(r.Window) {
			start = starts[k-1]
		}
		inside := 0
		for _, s := range starts {
			if s == start {
				inside++
			}
		}
		got := Verdict{Rule: r}
		switch {
		case int64(inside) < r.Max && start <= now:
			got = Verdict{}
		case int64(inside) < r.Max:
			got.Action, got.Until = Delay, start
		case r.Action == Delay:
			start = start.Add(r.Window)
			got.Action, got.Until = Delay, start
		default:
			got.Action = r.Action
		}
		if got.Until > now.Add(MaxWindows*r.Window) {
			got.Action, got.Until = Drop, 0
		}
		if got.Action == "" || got.Action == Delay || r.Action == Delay {
			done = append(done, func() { n.taken[key] = append(n.taken[key], start) })
		}
		v = worse(v, got)
	}
	return v, func() {
		for _, f := range done {
			f()
		}
	}
}

func drawRule(t *rapid.T) Rule {
	r := Rule{
		Type:   rapid.SampledFrom([]string{"*", "a", "a.*", "b"}).Draw(t, "type"),
		Source: rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "source"),
		Per:    rapid.SampledFrom([]Per{PerType, PerSource, PerScene}).Draw(t, "per"),
		Max:    rapid.Int64Range(0, 3).Draw(t, "max"),
		Window: time.Duration(rapid.IntRange(1, 5).Draw(t, "window")) * time.Second,
		Action: rapid.SampledFrom([]Action{Drop, Delay, Deprioritize}).Draw(t, "action"),
	}
	if r.Action == Delay {
		r.Max++
	}
	return r
}

// Promises 1, 2 and 4. TestAgainstNaive: random rules and events against a list of everything, with
// stores and restores in between.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(drawRule), 1, 4).Draw(t, "rules")
		table, twin := New(rules, 2), &naive{rules: rules, taken: map[string][]protocol.Time{}}
		now := begin
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "later")) * time.Millisecond)
			eventType, source := rapid.SampledFrom([]string{"a", "a.b", "b"}).Draw(t, "type"), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "source")
			want, took := twin.judge(eventType, source, now)
			got := take(table, eventType, source, now)
			if got.Action != want.Action || got.Until != want.Until {
				t.Fatalf("%s of %s at %v: %+v, want %+v", eventType, source, now, got, want)
			}
			if want.Action != Drop {
				took()
			}
			if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
				stored := table.Store()
				again, err := Restore(rules, 2, stored)
				if err != nil || !reflect.DeepEqual(again.Store(), stored) {
					t.Fatalf("%v: %+v, want %+v", err, again.Store(), stored)
				}
				table = again
			}
		}
	})
}
