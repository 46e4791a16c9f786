package budget_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tavernsim/engine/budget"
	"tavernsim/protocol"
)

// What an answer counts: its tokens, its cost and the attempts before it; nothing of a recorded one, and none of one
// that no endpoint gave.
func TestTaken(t *testing.T) {
	for name, c := range map[string]struct {
		origin      *protocol.ModelOrigin
		took, saved budget.Amount
	}{
		"no origin":        {nil, budget.Amount{Tokens: 7, Calls: 1}, budget.Amount{}},
		"no budget":        {&protocol.ModelOrigin{Cost: 5}, budget.Amount{Tokens: 7, Calls: 1, Nano: 5}, budget.Amount{}},
		"lost attempts":    {&protocol.ModelOrigin{Cost: 5, Endpoint: "near", Budget: &protocol.ModelBudget{Lost: 3, LostNano: 2}}, budget.Amount{Tokens: 10, Calls: 1, Nano: 7}, budget.Amount{}},
		"recorded":         {&protocol.ModelOrigin{Cost: 5, Endpoint: "near", Budget: &protocol.ModelBudget{Saved: true}}, budget.Amount{}, budget.Amount{Tokens: 7, Calls: 1, Nano: 5}},
		"refused":          {&protocol.ModelOrigin{Budget: &protocol.ModelBudget{Ledger: "run"}}, budget.Amount{}, budget.Amount{}},
		"another endpoint": {&protocol.ModelOrigin{Endpoint: "far", Budget: &protocol.ModelBudget{Ledger: "endpoint:near"}}, budget.Amount{Tokens: 7, Calls: 1}, budget.Amount{}},
		"without ledger":   {&protocol.ModelOrigin{Budget: &protocol.ModelBudget{}}, budget.Amount{Tokens: 7, Calls: 1}, budget.Amount{}},
	} {
		took, saved := budget.Taken(&protocol.ModelAnswer{Usage: protocol.Usage{Input: 4, Output: 3}, Origin: c.origin})
		if took != c.took || saved != c.saved {
			t.Errorf("%s: %s, saved %s; want %s, saved %s", name, took, saved, c.took, c.saved)
		}
	}
}

// Sums and products end at the largest number, and what a limit has left at 0.
func TestAmountsHaveAnEnd(t *testing.T) {
	most := budget.Amount{Tokens: math.MaxInt64, Calls: 2}
	if got := most.Plus(budget.Amount{Tokens: 1, Calls: 3}); got != (budget.Amount{Tokens: math.MaxInt64, Calls: 5}) {
		t.Error(got)
	}
	if got := (budget.Amount{Tokens: 5}).Plus(budget.Amount{Tokens: -3}); got.Tokens != 2 {
		t.Error(got)
	}
	if got := (budget.Amount{Tokens: math.MaxInt64/3 + 1, Calls: 4}).Times(3); got != (budget.Amount{Tokens: math.MaxInt64, Calls: 12}) {
		t.Error(got)
	}
	if got := (budget.Amount{Tokens: 1, Calls: 2}).String(); got != "1 token, 2 calls" || (budget.Amount{}).String() != "nothing" {
		t.Error(got)
	}
	tree := budget.New(budget.Config{Scene: limits(t, "tokens=10"), Cast: cast{}})
	tree.Charge(0, "", 0, budget.Amount{Tokens: -5})
	tree.Lose(0, 1, "", budget.Amount{Tokens: -5})
	tree.Keep(0, 1, "", budget.Amount{Tokens: -5}, budget.Amount{Tokens: -5})
	r := budget.NewRounds(tree, true)
	r.Woken(1, 0, 1)
	r.Step(1, &budget.Step{Agent: 1, Asks: []budget.Request{{Agent: 1, Number: 1, Bound: budget.Amount{Tokens: -5}}}})
	r.Grants(0)
	if l := tree.Lines()[0]; l.Used.Tokens != 0 || l.Reserved.Tokens != 0 {
		t.Errorf("%+v", l)
	}
	tree.Charge(0, "", 0, budget.Amount{Tokens: math.MaxInt64})
	if got := tree.Lines()[0].Used.Tokens; got == math.MaxInt64 {
		t.Error(got)
	}
	l := budget.Line{Limits: budget.Limits{Amount: budget.Amount{Tokens: 10, Calls: 3, Micro: 5}}, Kept: budget.Kept{Used: budget.Amount{Tokens: 4, Calls: 3, Nano: 9}}, Reserved: budget.Amount{Tokens: 5, Calls: 1}}
	if got := l.Left(); got != (budget.Amount{Tokens: 1, Calls: 0, Nano: -1, Micro: 5, Bytes: -1}) {
		t.Error(got)
	}
}

// A budget is empty, has models and ends a scene by each of its ledgers alone.
func TestEachLedgerCounts(t *testing.T) {
	refuse := func(do string) *budget.Limits {
		return &budget.Limits{Amount: budget.Amount{Calls: 1}, On: budget.Action{Do: do}}
	}
	for _, do := range []string{budget.Refuse, budget.End, budget.Pause} {
		l, ends := refuse(do), do != budget.Refuse
		of := map[string]*budget.Limits{"x": l}
		for name, c := range map[string]struct {
			cfg                 budget.Config
			empty, models, ends bool
		}{
			"none": {budget.Config{}, true, false, false}, "counts": {budget.Config{Counts: true}, false, true, false}, "run": {budget.Config{Run: l}, false, true, ends}, "scene": {budget.Config{Scene: l}, false, true, ends},
			"tools": {budget.Config{Tools: l}, false, false, ends}, "profiles": {budget.Config{Profiles: of}, false, true, ends}, "agents": {budget.Config{Agents: of}, false, true, ends}, "endpoints": {budget.Config{Endpoints: of}, false, true, ends},
		} {
			if c.cfg.Empty() != c.empty || c.cfg.HasModels() != c.models || c.cfg.Ends() != c.ends {
				t.Errorf("%s, %s: empty %t, models %t, ends %t", do, name, c.cfg.Empty(), c.cfg.HasModels(), c.cfg.Ends())
			}
		}
	}
	if (*budget.Config)(nil).Ends() {
		t.Error("no budget ends a scene")
	}
}

// Each limit takes its largest number, and no larger one.
func TestLargestLimits(t *testing.T) {
	for text, ok := range map[string]bool{
		fmt.Sprint("tokens=", int64(budget.MaxTokens)): true, fmt.Sprint("tokens=", int64(budget.MaxTokens)+1): false, fmt.Sprint("calls=", int64(budget.MaxCalls)): true, fmt.Sprint("calls=", int64(budget.MaxCalls)+1): false,
		fmt.Sprint("dollars=", int64(budget.MaxDollars)): true, "calls=-1": false, "tokens=5,calls=0": false, "tokens=5,dollars=0": false,
	} {
		if _, err := budget.Parse(text); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A budget of a day is not shared: each scene keeps the whole, as the endpoint does.
func TestSharesOfADay(t *testing.T) {
	got := budget.Shares(map[string]*budget.Budget{"run": {Tokens: 9}, "day": {Tokens: 9, Window: budget.WindowDay}}, 3)
	if got["run"].Tokens != 3 || got["day"].Tokens != 9 {
		t.Errorf("%v, %v", got["run"], got["day"])
	}
}

// Who looks at a run sees its widest ledgers with what is under way; the day that is over counts no more.
func TestWide(t *testing.T) {
	const day = protocol.Time(24 * 3600 * 1e9)
	tree := budget.New(budget.Config{
		Run: limits(t, "tokens=100"), Scene: limits(t, "tokens=90,window=day"), Tools: &budget.Limits{Amount: budget.Amount{Calls: 5}},
		Endpoints: map[string]*budget.Limits{"near": limits(t, "tokens=80")}, Agents: map[string]*budget.Limits{"even": limits(t, "tokens=70")}, Cast: cast{},
	})
	if got := budget.New(budget.Config{Cast: cast{}}).Wide(day); got != nil {
		t.Errorf("without budgets there is %+v", got)
	}
	tree.Charge(0, "near", day, budget.Amount{Tokens: 9})
	tree.Hold(0, 1, "near", budget.Amount{Tokens: 4})
	for at, want := range map[protocol.Time]string{day: "run 9+4 scene 9+4 tools 0+0 endpoint:near 9+4", 2*day - 1: "run 9+4 scene 9+4 tools 0+0 endpoint:near 9+4", 2 * day: "run 9+4 scene 0+4 tools 0+0 endpoint:near 9+4"} {
		var got []string
		for _, l := range tree.Wide(at) {
			got = append(got, fmt.Sprintf("%s %d+%d", l.Name, l.Used.Tokens, l.Reserved.Tokens))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at %d: %q, want %q", at, got, want)
		}
	}
}

// A snapshot keeps each ledger that counted something, whatever that was. A run that gets its first budget begins
// with what its scene has; one that has some keeps it.
func TestKeptLedgers(t *testing.T) {
	both := budget.Config{Run: limits(t, "tokens=100"), Scene: limits(t, "tokens=100"), Profiles: map[string]*budget.Limits{"odd": limits(t, "tokens=9"), "even": limits(t, "tokens=9")}, Cast: cast{}}
	tree := budget.New(budget.Config{Scene: both.Scene, Profiles: both.Profiles, Cast: cast{}})
	tree.Save(1, budget.Amount{Tokens: 5})
	if tree.Refuse(0, "profile:even", false) != budget.Refuse || tree.Refuse(0, "profile:none", false) != "" {
		t.Error("what the ledger demands")
	}
	names := func(kept []budget.Kept) (text string) {
		for _, k := range kept {
			text += fmt.Sprintf(" %s:%d", k.Name, k.Total.Tokens)
		}
		return text
	}
	if got := names(tree.Kept()); got != " scene:0 profile:even:0 profile:odd:0" {
		t.Error(got)
	}
	tree.Charge(2, "", 0, budget.Amount{Tokens: 6})
	again := budget.New(both)
	again.Restore(tree.Kept())
	again.Charge(2, "", 0, budget.Amount{Tokens: 1})
	if got := names(again.Kept()); got != " run:7 scene:7 profile:even:7 profile:odd:0" {
		t.Error(got)
	}
	kept := []budget.Kept{{Name: budget.OfRun, Total: budget.Amount{Tokens: 50}}, {Name: budget.OfScene, Total: budget.Amount{Tokens: 8}}, {Name: "endpoint:gone"}}
	third := budget.New(both)
	if third.Restore(kept); names(third.Kept()) != " run:50 scene:8" {
		t.Error(names(third.Kept()))
	}
	both.Agents = map[string]*budget.Limits{"even": limits(t, "tokens=9")}
	fourth := budget.New(both)
	if fourth.Restore([]budget.Kept{{Name: "profile:odd", Total: budget.Amount{Tokens: 3}}, {Name: "agent:gone", Total: budget.Amount{Tokens: 4}}}); names(fourth.Kept()) != " profile:odd:3" {
		t.Error(names(fourth.Kept()))
	}
	if fourth.Total() != (budget.Amount{}) {
		t.Error("it counts no total")
	}
}

// What a request took before a kill counts as out until the turn takes its answer: the request itself then passes.
func TestKeptRequests(t *testing.T) {
	tree := budget.New(budget.Config{Run: limits(t, "tokens=100"), Endpoints: map[string]*budget.Limits{"near": limits(t, "tokens=100")}, Cast: cast{}})
	r := budget.NewRounds(tree, false)
	tree.Keep(0, 1, "near", budget.Amount{Tokens: 60}, budget.Amount{Tokens: 55})
	sum := func() (text string) {
		for _, l := range tree.Lines() {
			text += fmt.Sprintf(" %d+%d", l.Used.Tokens, l.Reserved.Tokens)
		}
		return text
	}
	if got := sum(); got != " 0+60 0+60" {
		t.Error(got)
	}
	r.Woken(0, 0, 1)
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{{Agent: 0, Number: 1, Paid: true, Bound: budget.Amount{Tokens: 1000}}}})
	if g := r.Grants(0); len(g) != 1 || g[0].Refused != nil {
		t.Errorf("%+v", g)
	}
	if got := sum(); got != " 0+60 0+60" {
		t.Error(got)
	}
	r.Step(1, &budget.Step{Agent: 0, Done: 1, Of: "near", Took: budget.Amount{Tokens: 55}})
	if got := sum(); got != " 55+0 55+0" {
		t.Error(got)
	}
	r.Step(1, &budget.Step{Agent: 0, Done: 9, Of: "near", Took: budget.Amount{Tokens: 5}})
	if got := sum(); got != " 55+0 55+0" {
		t.Errorf("nobody asked for request 9: %s", got)
	}
	if r.Merged(0); sum() != " 0+0 0+0" {
		t.Error(sum())
	}
}

// Tasks get what facts, calls that are out and turns under way leave, and no call leaves until they are counted, unless it left
// before a kill.
func TestAnOfferToTasks(t *testing.T) {
	tree := budget.New(budget.Config{Tools: &budget.Limits{Amount: budget.Amount{Calls: 4, Nano: 40, Micro: 9, Bytes: 9}}, Cast: cast{}})
	r := budget.NewRounds(tree, true)
	ask := func(o uint32, paid bool) int {
		r.Woken(o, 0, 1)
		r.Step(1, &budget.Step{Agent: o, Asks: []budget.Request{{Agent: o, Number: budget.ToolNumbers, Tool: true, Paid: paid, Bound: budget.Amount{Calls: 1, Nano: 10}}}})
		return len(r.Grants(0))
	}
	left := func(calls, nano, micro, size int64) {
		t.Helper()
		if got, want := *tree.OfferTasks(), (budget.Amount{Calls: calls, Nano: nano, Micro: micro, Bytes: size}); got != want {
			t.Errorf("tasks get %+v, want %+v", got, want)
		}
	}
	left(4, 40, 9, 9)
	r.Woken(3, 0, 1)
	if r.Step(1, &budget.Step{Agent: 3, Asks: []budget.Request{{Agent: 3, Number: 1, Bound: budget.Amount{Calls: 9}}}}); len(r.Grants(0)) != 1 {
		t.Error("a request to a model waits for the tasks")
	}
	if got := budget.New(budget.Config{Tools: &budget.Limits{Amount: budget.Amount{Calls: 4}}}).OfferTasks(); *got != (budget.Amount{Calls: 4}) {
		t.Errorf("tasks get %+v of calls alone", got)
	}
	if ask(0, false)+ask(1, true) != 1 {
		t.Error("a call leaves while tasks are not counted, or one that has left already does not go on")
	}
	tree.ChargeTools(0, budget.Amount{Calls: 1, Nano: 10}, 0)
	if tree.TasksCounted(); len(r.Grants(0)) != 1 {
		t.Error("the call does not leave that waited for the tasks")
	}
	left(2, 20, 9, 9)
	r.Step(1, &budget.Step{Agent: 0, Done: budget.ToolNumbers, Took: budget.Amount{Calls: 1, Nano: 10, Micro: 9, Bytes: 4}})
	left(2, 20, -1, 5)
	tree.Keep(2, budget.ToolNumbers, "", budget.Amount{Calls: 2, Nano: 5}, budget.Amount{Calls: 2, Nano: 5})
	left(-1, 15, -1, 5)
}

// What a call of a tool took counts for others before the facts of its turn do.
func TestToolsUnderWay(t *testing.T) {
	tree := budget.New(budget.Config{Tools: &budget.Limits{Amount: budget.Amount{Calls: 2}}, Cast: cast{}})
	r := budget.NewRounds(tree, true)
	ask := func(o uint32) []budget.Grant {
		r.Woken(o, 0, 1)
		r.Step(1, &budget.Step{Agent: o, Asks: []budget.Request{{Agent: o, Number: budget.ToolNumbers, Tool: true, Bound: budget.Amount{Calls: 1}}}})
		return r.Grants(0)
	}
	if g := ask(0); len(g) != 1 {
		t.Errorf("%+v", g)
	}
	r.Step(1, &budget.Step{Agent: 0, Done: budget.ToolNumbers, Took: budget.Amount{Calls: 2}})
	if g := ask(1); len(g) != 1 || g[0].Refused == nil {
		t.Errorf("%+v", g)
	}
	tree.ChargeTools(0, budget.Amount{Calls: 1, Bytes: 8}, 0)
	tree.ChargeTools(0, budget.Amount{Calls: 1}, 0)
	paid := budget.Request{Agent: 2, Number: budget.ToolNumbers, Tool: true, Paid: true, Bound: budget.Amount{Calls: 1}}
	tree.Keep(2, budget.ToolNumbers, "", budget.Amount{Calls: 1}, budget.Amount{Calls: 1, Bytes: 3})
	r.Woken(2, 0, 1)
	if r.Step(1, &budget.Step{Agent: 2, Asks: []budget.Request{paid}}); len(r.Grants(0)) != 1 || tree.Lines()[0].Reserved != (budget.Amount{Calls: 1}) {
		t.Error("what was granted before a kill leaves, and counts once")
	}
	calm := (&budget.Tools{Calls: 1}).Limits()
	if calm.On.Do != budget.Refuse || budget.New(budget.Config{Tools: calm}).ChargeTools(0, budget.Amount{}, 1) != "" || (*budget.Tools)(nil).Limits() != nil {
		t.Errorf("%+v", calm)
	}
	without := budget.New(budget.Config{Run: limits(t, "tokens=1"), Cast: cast{}})
	if without.OfferTasks() != nil || without.ChargeTools(0, budget.Amount{Calls: 1}, 1) != "" {
		t.Error("there is no budget of tools")
	}
	without.Lose(0, budget.ToolNumbers, "", budget.Amount{Calls: 1})
	if got := without.Lines()[0].Used; got != (budget.Amount{}) {
		t.Errorf("tools took %s of the run", got)
	}
	free := budget.NewRounds(without, true)
	free.Woken(0, 0, 1)
	if free.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{{Agent: 0, Number: budget.ToolNumbers, Tool: true, Bound: budget.Amount{Calls: 1}}}}); len(free.Grants(0)) != 1 {
		t.Error("no budget of tools holds up a call")
	}
	for text, kind := range map[string]protocol.ErrorKind{budget.ToolsAreOut: protocol.KindInvalid, "too many": protocol.KindLimit} {
		if budget.RefusedTool(kind, text) {
			t.Errorf("%s: %s", kind, text)
		}
	}
}

// A wave begins without the turns of the one before it, and what an ended turn asked for is not granted.
func TestRoundsForget(t *testing.T) {
	r := budget.NewRounds(budget.New(budget.Config{Run: limits(t, "tokens=100"), Cast: cast{}}), false)
	ask := func(o uint32) {
		r.Woken(o, int(o), 1)
		r.Step(1, &budget.Step{Agent: o, Asks: []budget.Request{{Agent: o, Number: 1}}})
	}
	ask(0)
	ask(1)
	ask(5)
	r.Ended(0)
	r.Merged(5)
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{{Agent: 0, Number: 2}}})
	r.Step(7, &budget.Step{Agent: 1, Asks: []budget.Request{{Agent: 1, Number: 2}}}) // of another wave
	if g := r.Grants(0); len(g) != 1 || g[0].Agent != 1 {
		t.Errorf("%+v", g)
	}
	r.Woken(2, 2, 1) // it would hold up the round
	ask(3)
	if r.Open(0, nil, nil) || len(r.Grants(0)) != 0 {
		t.Error("it is granted in another wave")
	}
	r.Step(1, &budget.Step{Agent: 2, Asks: []budget.Request{{Agent: 2, Number: 1}}})
	ask(4)
	if g := r.Grants(0); len(g) != 1 || g[0].Agent != 4 {
		t.Errorf("%+v", g)
	}
}

// A step too many takes nothing of what other turns have still to take; and whoever comes first is first where that counts.
func TestRoundsWaitForOthers(t *testing.T) {
	step := func(r *budget.Rounds, o uint32, asks ...budget.Request) {
		r.Step(1, &budget.Step{Agent: o, Asks: asks})
	}
	for _, firstCome := range []bool{false, true} {
		r := budget.NewRounds(budget.New(budget.Config{Run: limits(t, "tokens=100"), Cast: cast{}}), firstCome)
		for o := range uint32(3) {
			r.Woken(o, int(o), 1)
		}
		step(r, 1, budget.Request{Agent: 1, Number: 1})
		step(r, 1)
		step(r, 0, budget.Request{Agent: 0, Number: 1})
		var got []uint32
		for _, g := range r.Grants(0) {
			got = append(got, g.Agent)
		}
		if want := map[bool]string{false: "[]", true: "[1 0]"}[firstCome]; fmt.Sprint(got) != want {
			t.Errorf("first come %t: %v", firstCome, got)
		}
	}
}

// A wave goes by rounds if any ledger may not have all of it: that of an endpoint, or that of tools, which counts tools alone.
func TestRoundsByEndpointsAndTools(t *testing.T) {
	worst := func(tokens, calls int64) func(uint32) (models, tools budget.Amount) {
		return func(uint32) (models, tools budget.Amount) {
			return budget.Amount{Tokens: tokens}, budget.Amount{Calls: calls}
		}
	}
	r := budget.NewRounds(budget.New(budget.Config{
		Endpoints: map[string]*budget.Limits{"near": limits(t, "tokens=100")}, Tools: &budget.Limits{Amount: budget.Amount{Calls: 3, Tokens: 1}}, Cast: cast{},
	}), false)
	for _, c := range []struct {
		tokens, calls int64
		needed        bool
	}{{50, 1, false}, {51, 1, true}, {0, 2, true}} {
		if got := r.Open(0, []uint32{0, 1}, worst(c.tokens, c.calls)); got != c.needed {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// The tightest ledger above an agent says how much is used, wherever it stands.
func TestShareOfTheTightest(t *testing.T) {
	tree := budget.New(budget.Config{Run: limits(t, "tokens=10,calls=100"), Profiles: map[string]*budget.Limits{"even": limits(t, "tokens=100")}, Cast: cast{}})
	tree.Charge(0, "", 0, budget.Amount{Tokens: 5, Calls: 1})
	if got := tree.Share(0, 0); got != 0.5 {
		t.Error(got)
	}
	tree.Charge(0, "", 0, budget.Amount{Calls: 89})
	if got := tree.Share(0, 0); got != 0.9 {
		t.Error(got)
	}
}

// In a wave the share is that of its beginning, by what facts had charged: neither answers of its turns, nor what a
// kill lost of them, nor turns that have ended change it. An agent's own ledger is charged by its own turn alone.
func TestShareOfAWave(t *testing.T) {
	const day = protocol.Time(24 * 3600 * 1e9)
	tree := budget.New(budget.Config{Run: limits(t, "tokens=100"), Scene: limits(t, "tokens=50,window=day"), Profiles: map[string]*budget.Limits{"even": limits(t, "tokens=100"), "odd": limits(t, "calls=3")},
		Agents: map[string]*budget.Limits{"odd": limits(t, "calls=4")}, Cast: cast{}})
	r := budget.NewRounds(tree, false)
	tree.Charge(0, "", 0, budget.Amount{Tokens: 30})
	tree.Lose(2, 1, "", budget.Amount{Tokens: 5})
	check := func(what string, even, odd float64, at protocol.Time) {
		t.Helper()
		if a, b := r.Share(0, at), r.Share(1, at); a != even || b != odd {
			t.Errorf("%s: %v and %v, want %v and %v", what, a, b, even, odd)
		}
	}
	r.Open(0, nil, nil)
	check("a wave", 0.6, 0.6, 0)
	tree.Charge(0, "", 0, budget.Amount{Tokens: 10})
	tree.Charge(1, "", 0, budget.Amount{Calls: 3})
	check("a turn has ended", 0.6, 0.75, 0)
	r.Open(0, nil, nil)
	check("the next wave", 0.8, 1, 0)
	r.Open(day, nil, nil)
	check("a day later", 0.4, 1, day)
	live := budget.NewRounds(tree, true)
	if got := live.Share(0, 0); got != 0.9 {
		t.Errorf("where requests are granted when they come: %v", got)
	}
}

// A budget of the run goes on from day to day, and its refusal names the limits alone that the request exceeds.
func TestARunHasNoDays(t *testing.T) {
	const day = protocol.Time(24 * 3600 * 1e9)
	tree := budget.New(budget.Config{Run: limits(t, "tokens=100,calls=2"), Cast: cast{}})
	tree.Charge(0, "", day, budget.Amount{Tokens: 60, Calls: 1})
	tree.Charge(0, "", 3*day, budget.Amount{Tokens: 1, Calls: 1})
	if got := tree.Lines()[0].Used; got != (budget.Amount{Tokens: 61, Calls: 2}) || tree.Share(0, 9*day) != 1 {
		t.Error(got)
	}
	r := budget.NewRounds(tree, true)
	r.Woken(0, 0, 1)
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{{Agent: 0, Number: 1, Bound: budget.Amount{Tokens: 39, Calls: 1}}}})
	if g := r.Grants(9 * day); len(g) != 1 || g[0].Refused == nil || g[0].Refused.Text != "budget of the run: 2 calls of 2 calls used, and the request may take 1 call" {
		t.Errorf("%+v", g)
	}
	for text, a := range map[string]budget.Action{"refuse": {Do: budget.Refuse}, "degrade:small": {Do: budget.Degrade, Model: "small"}} {
		if a.String() != text {
			t.Errorf("%+v: %s", a, a)
		}
	}
}

// Ahead, what was spent and what an answer took leave less, and of a small limit at least one is there.
func TestAheadOfLittle(t *testing.T) {
	cfg := budget.Config{Run: limits(t, "calls=4"), Cast: cast{}}
	request := &budget.Request{Bound: budget.Amount{Calls: 1}}
	a := budget.NewAhead(cfg, nil, 0.1)
	h, why, _ := a.Hold(request, 0)
	if why != "" {
		t.Error(why)
	}
	a.Answered(&h, 0, "", budget.Amount{Calls: 1})
	if _, why, never := a.Hold(request, 0); why == "" || never {
		t.Errorf("%q, %t", why, never)
	}
	if a.Release(&h); a.Share(0, 0) != 0 {
		t.Error(a.Share(0, 0))
	}
	if _, why, _ = a.Hold(request, 0); why != "" {
		t.Error(why)
	}
	spent := budget.NewAhead(cfg, []budget.Kept{{Name: budget.OfRun, Used: budget.Amount{Calls: 4}}}, 1)
	if _, why, never := spent.Hold(request, 0); why == "" || never || spent.Share(0, 0) != 1 {
		t.Errorf("%q, %t", why, never)
	}
}

// Ahead, a model without a price is refused for good where money counts, and there alone.
func TestAheadWithoutAPrice(t *testing.T) {
	request := &budget.Request{Unpriced: true, Parts: []budget.Part{{Endpoint: "near", Unpriced: true}}}
	for text, refused := range map[string]bool{"dollars=1": true, "tokens=10": false} {
		l := map[string]*budget.Limits{"near": limits(t, text)}
		_, why, never := budget.NewAhead(budget.Config{Endpoints: l, Cast: cast{}}, nil, 1).Hold(request, 0)
		if never != refused || strings.Contains(why, "no price") != refused {
			t.Errorf("%s: %q, %t", text, why, never)
		}
		request.Unpriced = false
		if _, _, never = budget.NewAhead(budget.Config{Run: limits(t, text), Cast: cast{}}, nil, 1).Hold(request, 0); never {
			t.Errorf("%s: only the endpoint has no price", text)
		}
		request.Unpriced = true
	}
}
