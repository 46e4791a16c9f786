package budget_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/budget"
	"tavernsim/protocol"
)

func TestRefusals(t *testing.T) {
	daily := limits(t, "tokens=50,dollars=0.5,window=day")
	for _, c := range []struct {
		cfg    budget.Config
		ask    budget.Request
		ledger string
		text   string
	}{
		{budget.Config{Scene: limits(t, "tokens=10"), Agents: map[string]*budget.Limits{"odd": limits(t, "tokens=5")}}, budget.Request{Agent: 1, Bound: budget.Amount{Tokens: 11}}, "scene",
			"budget of the scene: 0 tokens of 10 tokens used, and the request may take 11 tokens"},
		{budget.Config{Scene: limits(t, "tokens=10"), Agents: map[string]*budget.Limits{"odd": limits(t, "tokens=5")}}, budget.Request{Agent: 1, Bound: budget.Amount{Tokens: 6}}, "agent:a1",
			"budget of agent a1: 0 tokens of 5 tokens used, and the request may take 6 tokens"},
		{budget.Config{Profiles: map[string]*budget.Limits{"even": daily}}, budget.Request{Bound: budget.Amount{Tokens: 51, Nano: 500_000_001, Calls: 1}}, "profile:even",
			"budget of profile even: 0 tokens of 50 tokens a day used, and the request may take 51 tokens; $0 of $0.5 a day used, and the request may take $0.500000001"},
		{budget.Config{Run: limits(t, "dollars=9")}, budget.Request{Unpriced: true}, "run",
			"budget of the run: the model has no price, and the budget is in dollars; nothing leaves (add prices, or free, to its endpoint; a plugin that answers in its place has a price in overrides)"},
		{budget.Config{Run: limits(t, "tokens=9")}, budget.Request{Unpriced: true}, "", ""},
		{budget.Config{Profiles: map[string]*budget.Limits{"even": limits(t, "tokens=1")}}, budget.Request{Agent: 1, Bound: budget.Amount{Tokens: 2}}, "", ""},
	} {
		c.cfg.Cast, c.ask.Number = cast{}, 1
		r := budget.NewRounds(budget.New(c.cfg), false)
		r.Woken(c.ask.Agent, 0, 1)
		r.Step(1, &budget.Step{Agent: c.ask.Agent, Asks: []budget.Request{c.ask}})
		g := r.Grants(0)
		switch {
		case len(g) != 1:
			t.Errorf("%d grants", len(g))
		case g[0].Refused == nil && c.ledger != "":
			t.Errorf("granted, want %s", c.text)
		case g[0].Refused != nil && (g[0].Refused.Ledger != c.ledger || g[0].Refused.Error() != c.text):
			t.Errorf("%s: %s\nwant %s: %s", g[0].Refused.Ledger, g[0].Refused, c.ledger, c.text)
		}
	}
}

// A day's budget begins anew with each day; what is late counts for the day that is.
func TestDays(t *testing.T) {
	day := func(n int) protocol.Time { return protocol.Time(n) * 24 * 3600 * 1e9 }
	tree := budget.New(budget.Config{Scene: limits(t, "tokens=100,window=day"), Cast: cast{}})
	for _, c := range []struct {
		at          protocol.Time
		tokens      int64
		used, total int64
		share       float64 // an hour later
	}{{day(1), 60, 60, 60, 0.6}, {day(2) - 1, 10, 70, 70, 0}, {day(2), 5, 5, 75, 0.05}, {day(1), 5, 10, 80, 0}, {day(2) + 1, 200, 210, 280, 1}} {
		tree.Charge(0, "", c.at, budget.Amount{Tokens: c.tokens})
		l := tree.Lines()[0]
		if l.Used.Tokens != c.used || l.Total.Tokens != c.total {
			t.Errorf("%v: %v", c, l.Kept)
		}
		at := c.at + 3600*1e9
		if c.at == day(1) && c.tokens == 5 {
			at = day(3)
		}
		if got := tree.Share(0, at); got != c.share {
			t.Errorf("%v: share %v", c, got)
		}
	}
}

// A tree without limits can count.
func TestTotal(t *testing.T) {
	c := budget.Config{Counts: true, Cast: cast{}}
	if c.Empty() || !(&budget.Config{}).Empty() {
		t.Error("what is empty")
	}
	tree := budget.New(c)
	tree.Charge(3, "", 0, budget.Amount{Nano: 5})
	again := budget.New(c)
	again.Restore(tree.Kept())
	if r := budget.NewRounds(again, false); again.Total().Nano != 5 || len(again.Lines()) > 0 || r.Open(0, []uint32{3}, models(func(uint32) budget.Amount { return budget.Amount{Nano: 1 << 60} })) {
		t.Error(again.Total(), again.Lines())
	}
}

// What recorded answers saved and what was refused is counted in the ledgers above the
// agent.
func TestCounts(t *testing.T) {
	tree := budget.New(budget.Config{Run: limits(t, "tokens=100"), Profiles: map[string]*budget.Limits{"odd": limits(t, "calls=2")}, Cast: cast{}})
	tree.Save(1, budget.Amount{Tokens: 7, Calls: 1})
	tree.Save(0, budget.Amount{Tokens: 1})
	tree.Refuse(1, "profile:odd", false)
	tree.Refuse(1, "run", true)
	got, err := json.Marshal(tree.Kept())
	if want := `[{"Name":"run","Day":0,"Used":{"Tokens":0,"Calls":0,"Nano":0,"Micro":0,"Bytes":0},"Total":{"Tokens":0,"Calls":0,"Nano":0,"Micro":0,"Bytes":0},"Saved":{"Tokens":8,"Calls":1,"Nano":0,"Micro":0,"Bytes":0},"Refused":0,"Changed":1},` +
		`{"Name":"profile:odd","Day":0,"Used":{"Tokens":0,"Calls":0,"Nano":0,"Micro":0,"Bytes":0},"Total":{"Tokens":0,"Calls":0,"Nano":0,"Micro":0,"Bytes":0},"Saved":{"Tokens":7,"Calls":1,"Nano":0,"Micro":0,"Bytes":0},"Refused":1,"Changed":0}]`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if budget.Kind("profile:odd") != "profile" || budget.Kind("run") != "run" {
		t.Error("kinds")
	}
}

// An endpoint without room bars a request that has another one first, and refuses one that
// has none. What it took counts for the endpoint that answered.
func TestEndpoints(t *testing.T) {
	tree := budget.New(budget.Config{Endpoints: map[string]*budget.Limits{"near": limits(t, "tokens=100"), "far": limits(t, "calls=1,dollars=1")}, Cast: cast{}})
	r := budget.NewRounds(tree, false)
	ask := func(number int, parts ...budget.Part) budget.Grant {
		t.Helper()
		r.Woken(0, 0, 1)
		r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{{Agent: 0, Number: number, Bound: budget.Amount{Tokens: 60, Calls: 1}, Parts: parts}}})
		g := r.Grants(0)
		if len(g) != 1 {
			t.Fatalf("%d grants", len(g))
		}
		return g[0]
	}
	near := budget.Part{Endpoint: "near", Bound: budget.Amount{Tokens: 60, Calls: 1}, First: true}
	far := budget.Part{Endpoint: "far", Bound: budget.Amount{Tokens: 50, Calls: 1}}
	if g := ask(1, near, far); g.Refused != nil || g.Barred != nil {
		t.Errorf("%+v", g)
	}
	if lines := tree.Lines(); lines[0].Name != "endpoint:far" || lines[0].Reserved.Tokens != 50 || lines[1].Reserved.Tokens != 60 {
		t.Errorf("%+v", lines)
	}
	r.Step(1, &budget.Step{Agent: 0, Done: 1, Took: budget.Amount{Tokens: 45, Calls: 1}, Of: "far"})
	if lines := tree.Lines(); lines[0].Used.Tokens != 45 || lines[1].Used != (budget.Amount{}) || lines[1].Reserved != (budget.Amount{}) {
		t.Errorf("%+v", lines)
	}
	if g := ask(2, near, far); g.Refused != nil || !slices.Equal(g.Barred, []string{"far"}) {
		t.Errorf("%+v", g)
	}
	r.Step(1, &budget.Step{Agent: 0, Done: 2, Took: budget.Amount{Tokens: 41, Calls: 1}, Of: "near"})
	if g := ask(3, near, far); g.Refused == nil || g.Refused.Ledger != "endpoint:near" || g.Refused.Text != "budget of endpoint near: 41 tokens of 100 tokens used, and the request may take 60 tokens" {
		t.Errorf("%+v", g)
	}
	far.First, far.Unpriced, far.Bound = true, true, budget.Amount{}
	if g := ask(4, far); g.Refused == nil || !strings.Contains(g.Refused.Text, "no price") {
		t.Errorf("%+v", g)
	}
}

// What a kill lost counts until the facts of the turn do.
func TestLost(t *testing.T) {
	tree := budget.New(budget.Config{Run: limits(t, "tokens=100"), Endpoints: map[string]*budget.Limits{"near": limits(t, "calls=2")}, Cast: cast{}})
	r := budget.NewRounds(tree, false)
	lost := budget.Amount{Tokens: 70, Calls: 1}
	tree.Lose(0, 1, "near", lost)
	if !r.Open(0, []uint32{1}, models(func(uint32) budget.Amount { return budget.Amount{Tokens: 31} })) {
		t.Error("what is lost leaves less for others")
	}
	r.Woken(1, 0, 1)
	r.Step(1, &budget.Step{Agent: 1, Asks: []budget.Request{{Agent: 1, Number: 1, Bound: budget.Amount{Tokens: 31}}}})
	if g := r.Grants(0); g[0].Refused == nil {
		t.Error("granted")
	}
	tree.Charge(0, "near", 0, lost)
	r.Merged(0)
	for _, l := range tree.Lines() {
		if l.Used != lost {
			t.Errorf("%+v", l)
		}
	}
}

// models says what turns may take at most of models; of tools they take nothing.
func models(worst func(uint32) budget.Amount) func(uint32) (models, tools budget.Amount) {
	return func(o uint32) (budget.Amount, budget.Amount) { return worst(o), budget.Amount{} }
}

// Tools have a ledger of their own: calls and money are reserved before a call leaves; once
// time or output has reached its limit none leaves any more.
func TestToolsHaveALedger(t *testing.T) {
	l := (&budget.Tools{Calls: 3, Seconds: 10, Money: 1, Stop: budget.StopBudget}).Limits()
	ask := func(agent uint32, nano int64) budget.Request {
		return budget.Request{Agent: agent, Number: budget.ToolNumbers + 1, Tool: true, Bound: budget.Amount{Calls: 1, Nano: nano}}
	}
	for _, x := range []struct {
		used budget.Amount
		asks []budget.Request
		want string // of each: left, waits or refused
	}{
		{asks: []budget.Request{ask(1, 0), ask(2, 0), ask(3, 0)}, want: "left left left"},
		{used: budget.Amount{Calls: 1}, asks: []budget.Request{ask(1, 0), ask(2, 0), ask(3, 0)}, want: "left left waits"},
		{used: budget.Amount{Calls: 3}, asks: []budget.Request{ask(1, 0)}, want: "refused"},
		{used: budget.Amount{Micro: 10_000_000}, asks: []budget.Request{ask(1, 0)}, want: "refused"},
		{used: budget.Amount{Micro: 9_999_999}, asks: []budget.Request{ask(1, 0), ask(2, 0)}, want: "left left"},
		{used: budget.Amount{Nano: budget.Dollar / 2}, asks: []budget.Request{ask(1, budget.Dollar/2+1), ask(2, budget.Dollar/2)}, want: "refused left"},
	} {
		tree := budget.New(budget.Config{Tools: l, Cast: nobody{}})
		tree.ChargeTools(0, x.used, 0)
		r := budget.NewRounds(tree, true)
		var got []string
		for i, q := range x.asks {
			r.Woken(q.Agent, i, 1)
			r.Step(1, &budget.Step{Agent: q.Agent, Asks: []budget.Request{q}})
			switch g := r.Grants(0); {
			case len(g) == 0:
				got = append(got, "waits")
			case g[0].Refused != nil && budget.RefusedTool(protocol.KindLimit, g[0].Refused.Text):
				got = append(got, "refused")
			default:
				got = append(got, "left")
			}
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%v used: %q, want %q", x.used, got, x.want)
		}
	}
	tree := budget.New(budget.Config{Tools: l})
	if tree.ChargeTools(0, budget.Amount{Calls: 1}, 0) != "" || tree.ChargeTools(0, budget.Amount{}, 1) != budget.End {
		t.Error("only a refused call ends the scene")
	}
}

type nobody struct{}

func (nobody) Name(uint32) string { return "" }

func (nobody) Ordinal(string) (uint32, bool) { return 0, false }

func (nobody) Profile(uint32) string { return "" }

// A turn that is cut off counts with what it took, and with the most that is out. When nobody has its facts, a list
// has it for each ledger: charging the list, and having the list given again from a history, makes no difference to
// the ledgers.
func TestTurnsWithoutFacts(t *testing.T) {
	config := budget.Config{
		Run: limits(t, "tokens=100"), Tools: (&budget.Tools{Calls: 3}).Limits(), Agents: map[string]*budget.Limits{cast{}.Profile(0): limits(t, "calls=9")},
		Endpoints: map[string]*budget.Limits{"near": limits(t, "calls=5"), "far": limits(t, "calls=5")}, Cast: cast{},
	}
	r := budget.NewRounds(budget.New(config), true)
	r.Open(0, nil, nil)
	r.Woken(0, 0, 1)
	bound := budget.Amount{Tokens: 40, Calls: 1}
	ask := func(n int) budget.Request {
		return budget.Request{Agent: 0, Number: n, Bound: bound, Parts: []budget.Part{{Endpoint: "near", Bound: bound, First: true}, {Endpoint: "far", Bound: bound}}}
	}
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{ask(1), ask(2), {Agent: 0, Number: budget.ToolNumbers + 1, Tool: true, Bound: budget.Amount{Calls: 1}}, ask(3)}})
	if got := len(r.Grants(0)); got != 3 {
		t.Fatalf("%d grants", got)
	}
	r.Step(1, &budget.Step{Agent: 0, Done: 1, Of: "near", Took: budget.Amount{Tokens: 5, Calls: 1}})
	used := func(r *budget.Rounds) (text string) {
		for _, l := range r.Lines() {
			text += l.Name + ": " + l.Used.String() + ", " + l.Reserved.String() + "\n"
		}
		return text
	}
	r.Cut(0)
	cut := used(r)
	if !strings.Contains(cut, "run: 45 tokens, 2 calls, nothing\n") || !strings.Contains(cut, "endpoint:near: 45 tokens, 2 calls, nothing\n") || !strings.Contains(cut, "endpoint:far: 40 tokens, 1 call, nothing\n") || !strings.Contains(cut, "tools: 1 call, nothing\n") {
		t.Error(cut)
	}
	list := r.Abandon(0)
	if got := r.Abandon(0); got != nil {
		t.Errorf("once more: %v", got)
	}
	r.ChargeLost(0, list)
	if got := used(r); got != cut {
		t.Errorf("%s, want\n%s", got, cut)
	}
	again := budget.NewRounds(budget.New(config), true)
	again.Expect(0, list)
	again.Expect(1, list[:1])
	if got := again.Turns(); !slices.Equal(got, []uint32{0, 1}) {
		t.Errorf("turns of %v", got)
	}
	if got := again.Abandon(0); !slices.Equal(got, list) {
		t.Errorf("%v, want %v", got, list)
	}
	if got := again.Abandon(0); got != nil || !slices.Equal(again.Turns(), []uint32{1}) {
		t.Errorf("once more: %v", got)
	}
	again.ChargeLost(0, append(list, budget.Loss{Ledger: "nobody's"}))
	if got := used(again); got != cut {
		t.Errorf("%s, want\n%s", got, cut)
	}
}

// A turn that is abandoned while it is under way is charged with what it took, with the answers that are kept, and with the most that is
// out, by ledgers in their order. One that took nothing leaves nothing to charge.
func TestATurnThatIsAbandoned(t *testing.T) {
	r := budget.NewRounds(budget.New(budget.Config{Run: limits(t, "tokens=100"), Scene: limits(t, "tokens=100"), Endpoints: map[string]*budget.Limits{"near": limits(t, "tokens=100"), "far": limits(t, "tokens=100")}, Cast: cast{}}), true)
	r.Lose(0, 1, "near", budget.Amount{Tokens: 1})
	r.Keep(0, 2, "near", budget.Amount{Tokens: 20}, budget.Amount{Tokens: 2})
	r.Woken(0, 0, 1)
	part := budget.Part{Endpoint: "far", Bound: budget.Amount{Tokens: 30}, First: true}
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{{Agent: 0, Number: 3, Bound: part.Bound, Parts: []budget.Part{part}}}})
	r.Grants(0)
	want := []budget.Loss{{Ledger: "endpoint:far", Tokens: 30}, {Ledger: "endpoint:near", Tokens: 3}, {Ledger: "run", Tokens: 33}, {Ledger: "scene", Tokens: 33}}
	if got := r.Abandon(0); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, l := range r.Lines() {
		if l.Used != (budget.Amount{}) || l.Reserved != (budget.Amount{}) {
			t.Errorf("before a fact charges it, %+v", l)
		}
	}
	r.Lose(2, 1, "", budget.Amount{})
	r.Lose(1, 1, "", budget.Amount{Tokens: 1})
	if got := r.Turns(); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("turns of %v", got)
	}
	if got := r.Abandon(2); got != nil {
		t.Errorf("of nothing it charges %+v", got)
	}
}

// What goes beyond a limit is said of the calls of tools and of models, but not of time and output of tools, which have no bound.
func TestExceeded(t *testing.T) {
	limit := budget.Amount{Calls: 2, Micro: 3, Bytes: 4}
	for _, c := range []struct {
		ledger string
		used   budget.Amount
		want   bool
	}{
		{budget.OfTools, limit, false}, {budget.OfTools, budget.Amount{Calls: 3}, true}, {budget.OfTools, budget.Amount{Calls: 2, Micro: 9, Bytes: 9}, false},
		{budget.OfRun, limit, false}, {budget.OfRun, budget.Amount{Calls: 3}, true}, {budget.OfRun, budget.Amount{Bytes: 5}, true},
	} {
		if got := budget.Exceeded(c.ledger, c.used, limit); got != c.want {
			t.Errorf("%s %s: %t", c.ledger, c.used, got)
		}
	}
	if got := limit.Max(budget.Amount{Tokens: 1, Calls: 1, Nano: 1, Micro: 4, Bytes: 5}); got != (budget.Amount{Tokens: 1, Calls: 2, Nano: 1, Micro: 4, Bytes: 5}) {
		t.Error(got)
	}
	if l, err := (*budget.Budget)(nil).Limits(budget.Refuse); l != nil || err != nil {
		t.Errorf("%+v, %v", l, err)
	}
}
