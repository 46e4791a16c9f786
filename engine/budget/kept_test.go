package budget_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/budget"
)

// A turn that takes other answers than those that are kept for it takes them beside: a wave needs rounds if it has no room for both.
// When the wave begins, what these took is spent.
func TestKeptAnswersAreBesideTheWorst(t *testing.T) {
	for number, c := range map[int]budget.Config{1: {Scene: limits(t, "calls=4"), Cast: cast{}}, budget.ToolNumbers + 1: {Tools: limits(t, "calls=4"), Cast: cast{}}} {
		r := budget.NewRounds(budget.New(c), false)
		worst := func(uint32) (models, tools budget.Amount) { return budget.Amount{Calls: 3}, budget.Amount{Calls: 3} }
		r.Lose(0, number, "", budget.Amount{Calls: 1})
		if r.Open(0, []uint32{0}, worst) {
			t.Error(number, "one and three of four need rounds")
		}
		r.Lose(0, number+1, "", budget.Amount{Calls: 1})
		if !r.Open(0, []uint32{0}, worst) {
			t.Error(number, "two and three of four need none")
		}
	}
}

// What a turn that has ended did not take of what was kept is spent: an earlier turn of the order does not wait for it.
func TestKeptAnswersOfATurnThatHasEnded(t *testing.T) {
	r := budget.NewRounds(budget.New(budget.Config{Scene: limits(t, "calls=2"), Cast: cast{}}), false)
	r.Open(0, []uint32{0, 1}, func(uint32) (models, tools budget.Amount) { return budget.Amount{Calls: 2}, budget.Amount{} })
	r.Woken(0, 0, 1)
	r.Keep(1, 1, "", budget.Amount{Calls: 1}, budget.Amount{Calls: 1})
	r.Woken(1, 1, 1)
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{{Agent: 0, Number: 1, Bound: budget.Amount{Calls: 2}}}})
	r.Ended(1)
	if g := r.Grants(0); len(g) != 1 || g[0].Refused == nil {
		t.Errorf("%+v", g)
	}
}

// A turn that takes kept answers, and others beside it, are granted what they would have been without the kill: what is kept reserves what
// the request did, not what its answer took.
func TestKeptAnswersReserveWhatTheyDid(t *testing.T) {
	tools := func(b budget.Amount) budget.Config {
		return budget.Config{Tools: &budget.Limits{Amount: b, On: budget.Action{Do: budget.Refuse}}, Cast: cast{}}
	}
	for name, c := range map[string]struct {
		cfg         budget.Config
		first       int // number of the first request
		bound, took budget.Amount
		want        string // of each turn in its order, what becomes of its requests
	}{
		"tokens":            {budget.Config{Scene: limits(t, "tokens=100"), Cast: cast{}}, 1, budget.Amount{Tokens: 60}, budget.Amount{Tokens: 30}, "++ -- "},
		"time of tools":     {tools(budget.Amount{Micro: 30}), budget.ToolNumbers + 1, budget.Amount{Calls: 1}, budget.Amount{Calls: 1, Micro: 30}, "+- +- "},
		"output of tools":   {tools(budget.Amount{Bytes: 60}), budget.ToolNumbers + 1, budget.Amount{Calls: 1}, budget.Amount{Calls: 1, Bytes: 29}, "++ ++ "},
		"calls that cost 0": {tools(budget.Amount{Calls: 1}), budget.ToolNumbers + 1, budget.Amount{Calls: 1}, budget.Amount{}, "++ ++ "},
	} {
		play := func(most int, kept [2]int) string { // how many turns are awake at once; how many requests of each have their answers
			r := budget.NewRounds(budget.New(c.cfg), false)
			var has [2]string
			for o, n := range kept {
				for i := range n {
					r.Lose(uint32(o), c.first+i, "", c.took)
				}
			}
			r.Open(0, []uint32{0, 1}, func(uint32) (models, tools budget.Amount) {
				return budget.Amount{Tokens: 1000}, budget.Amount{Calls: 1000, Micro: 1000, Bytes: 1000}
			})
			ended := 0
			ask := func(o uint32, done int, took budget.Amount) {
				s := budget.Step{Agent: o, Done: done, Took: took}
				if n := len(has[o]); n < 2 {
					s.Asks = []budget.Request{{Agent: o, Number: c.first + n, Bound: c.bound, Paid: n < kept[o], Tool: c.first > budget.ToolNumbers}}
				}
				if r.Step(1, &s); s.Asks == nil {
					r.Ended(o)
					ended++
				}
			}
			woken := uint32(0)
			wake := func(n int) {
				for ; woken < uint32(min(n, 2)); woken++ {
					r.Merged(woken)
					for i := range kept[woken] {
						r.Keep(woken, c.first+i, "", c.bound, c.took)
					}
					r.Woken(woken, int(woken), 1)
					defer ask(woken, 0, budget.Amount{})
				}
			}
			wake(most)
			for grants := r.Grants(0); len(grants) > 0; grants = r.Grants(0) {
				for _, g := range grants {
					if g.Refused != nil {
						has[g.Agent] += "-"
						ask(g.Agent, 0, budget.Amount{})
					} else {
						has[g.Agent] += "+"
						ask(g.Agent, g.Number, c.took)
					}
				}
				wake(ended + most)
			}
			return has[0] + " " + has[1] + " "
		}
		for most := 2; most > 0; most-- {
			want := play(most, [2]int{})
			if most == 2 && want != c.want {
				t.Errorf("%s: %q, want %q", name, want, c.want)
			}
			for _, kept := range [][2]int{{1, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}} {
				first, second := strings.Count(want[:2], "+"), strings.Count(want[3:], "+")
				if kept[0] > first || kept[1] > second || most == 1 && kept[1] > 0 && kept[0] < first {
					continue // no kill leaves that
				}
				if got := play(most, kept); got != want {
					t.Errorf("%s, %d awake: %q with %v kept, %q without a kill", name, most, got, kept, want)
				}
			}
		}
	}
}

// A turn waits for another request beside a kept answer that it has asked for: that is out until the turn takes it. One that it dropped
// before it was granted is spent when the turn ends.
func TestKeptAnswersThatATurnAsksFor(t *testing.T) {
	call := budget.Amount{Calls: 1}
	ask := func(o uint32, number int, most int64, paid bool) budget.Request {
		return budget.Request{Agent: o, Number: number, Bound: budget.Amount{Calls: most}, Paid: paid}
	}
	begin := func(limit string, orders ...uint32) *budget.Rounds {
		r := budget.NewRounds(budget.New(budget.Config{Scene: limits(t, limit), Cast: cast{}}), false)
		r.Keep(1, 2, "", budget.Amount{Calls: 2}, call)
		r.Open(0, []uint32{0, 1}, models(func(uint32) budget.Amount { return budget.Amount{Calls: 9} }))
		for _, o := range orders {
			r.Woken(o, int(o), 1)
		}
		return r
	}
	r := begin("calls=3", 1)
	r.Step(1, &budget.Step{Agent: 1, Asks: []budget.Request{ask(1, 1, 2, false), ask(1, 2, 2, true)}})
	if g := r.Grants(0); len(g) != 1 || g[0].Number != 2 {
		t.Errorf("%+v leave; the kept answer alone does, and the other request waits until that has settled", g)
	}
	r.Step(1, &budget.Step{Agent: 1, Done: 2, Took: call})
	if g := r.Grants(0); len(g) != 1 || g[0].Refused != nil {
		t.Errorf("then %+v", g)
	}
	r = begin("calls=2", 0, 1)
	r.Step(1, &budget.Step{Agent: 1, Asks: []budget.Request{ask(1, 2, 2, true)}, Dropped: []int{2}})
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{ask(0, 1, 1, false)}})
	r.Ended(1)
	if g := r.Grants(0); len(g) != 1 || g[0].Refused != nil {
		t.Errorf("an earlier turn waits for what nobody takes: %+v", g)
	}
}

// A request with fallbacks reserved the bound of all of them. Its kept answer does, too, once the turn asks for it: what waited beside it waits again.
func TestKeptAnswersOfFallbacks(t *testing.T) {
	r := budget.NewRounds(budget.New(budget.Config{Scene: limits(t, "tokens=1200"), Endpoints: map[string]*budget.Limits{"near": limits(t, "tokens=1500")}, Cast: cast{}}), false)
	r.Open(0, []uint32{0, 1}, func(uint32) (models, tools budget.Amount) { return budget.Amount{Tokens: 9000}, budget.Amount{} })
	r.Keep(1, 1, "far", budget.Amount{Tokens: 60}, budget.Amount{Tokens: 20})
	far, near := budget.Part{Endpoint: "far", Bound: budget.Amount{Tokens: 60}, First: true}, budget.Part{Endpoint: "near", Bound: budget.Amount{Tokens: 1000}}
	for o, q := range []budget.Request{{Bound: budget.Amount{Tokens: 300}}, {Bound: near.Bound, Parts: []budget.Part{far, near}, Paid: true}} {
		q.Agent, q.Number = uint32(o), 1
		r.Woken(uint32(o), o, 1)
		r.Step(1, &budget.Step{Agent: uint32(o), Asks: []budget.Request{q}})
	}
	if g := r.Grants(0); len(g) != 1 || g[0].Agent != 1 {
		t.Errorf("%+v; want the kept answer alone", g)
	}
	for _, l := range r.Lines() {
		if l.Reserved.Tokens != 1000 {
			t.Errorf("%s has %+v reserved", l.Name, l.Reserved)
		}
	}
	r.Step(1, &budget.Step{Agent: 1, Done: 1, Of: "far", Took: budget.Amount{Tokens: 20}})
	r.Ended(1)
	if g := r.Grants(0); len(g) != 1 || g[0].Refused != nil {
		t.Errorf("then %+v", g)
	}
	for _, l := range r.Lines() {
		if want := map[string]int64{budget.OfScene: 300}[l.Name]; l.Reserved.Tokens != want {
			t.Errorf("then %s has %+v reserved", l.Name, l.Reserved)
		}
	}
}

// Promise 3: a turn that asks something else than before a kill does not wait for its own kept answers. They count as spent.
func TestKeptAnswersThatNobodyTakes(t *testing.T) {
	for name, c := range map[string]struct {
		kept  []int // a call each
		limit string
		wants string
	}{
		"its place is taken":    {[]int{1}, "calls=1", "refused"},
		"another one is kept":   {[]int{2}, "calls=1", "refused"},
		"there is room":         {[]int{1}, "calls=2", "leaves"},
		"there is room for one": {[]int{1, 2}, "calls=3", "leaves"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, firstCome := range []bool{false, true} {
				r := budget.NewRounds(budget.New(budget.Config{Scene: limits(t, c.limit), Cast: cast{}}), firstCome)
				for _, n := range c.kept {
					r.Keep(0, n, "", budget.Amount{Calls: 1}, budget.Amount{Calls: 1})
				}
				r.Woken(0, 0, 1)
				r.Step(1, &budget.Step{Asks: []budget.Request{{Number: 1, Bound: budget.Amount{Calls: 1}}}})
				got := "waits"
				if g := r.Grants(0); len(g) == 1 && g[0].Refused != nil {
					got = "refused"
				} else if len(g) == 1 {
					got = "leaves"
					r.Step(1, &budget.Step{Done: 1, Took: budget.Amount{Calls: 1}})
					if l := r.Lines()[0]; l.Used.Calls != 2 || l.Reserved.Calls != int64(len(c.kept)-1) { // the other kept one is out
						t.Errorf("it took %s, and %s are out", l.Used, l.Reserved)
					}
				}
				if got != c.wants {
					t.Errorf("it %s, want %s", got, c.wants)
				}
				if r.Merged(0); r.Lines()[0].Reserved != (budget.Amount{}) || r.Lines()[0].Used != (budget.Amount{}) {
					t.Errorf("%+v", r.Lines()[0])
				}
			}
		})
	}
}

// An answer that is kept, and counts as spent since its turn waited for something else, reserves nothing when the turn asks for it
// after all. One that is asked for where requests are granted when they come, or when its budget has become too small, reserves what
// it did.
func TestKeptAnswersReserveOnce(t *testing.T) {
	far, near := budget.Part{Endpoint: "far", Bound: budget.Amount{Calls: 1}, First: true}, budget.Part{Endpoint: "near", Bound: budget.Amount{Calls: 1}}
	paid := budget.Request{Number: 1, Bound: budget.Amount{Calls: 2}, Parts: []budget.Part{far, near}, Paid: true}
	for name, c := range map[string]struct {
		firstCome  bool
		limit      string
		other      int64 // calls that the turn asks for before it asks for what is kept
		used, held int64
	}{
		"spent before":      {false, "calls=3", 2, 1, 2},
		"when it comes":     {true, "calls=3", 0, 0, 1},
		"by rounds":         {false, "calls=3", 0, 0, 2},
		"has become little": {false, "calls=1", 0, 0, 1},
	} {
		r := budget.NewRounds(budget.New(budget.Config{Scene: limits(t, c.limit), Cast: cast{}}), c.firstCome)
		r.Keep(0, 1, "far", budget.Amount{Calls: 1}, budget.Amount{Calls: 1})
		r.Woken(0, 0, 1)
		asks := []budget.Request{paid}
		if c.other > 0 {
			r.Lose(1, 1, "", budget.Amount{}) // nothing of another agent
			r.Step(1, &budget.Step{Asks: []budget.Request{{Number: 2, Bound: budget.Amount{Calls: c.other}}, {Number: 3, Bound: budget.Amount{Calls: 1}}}})
			r.Grants(0)
			r.Step(1, &budget.Step{Dropped: []int{3}})
		}
		r.Step(1, &budget.Step{Asks: asks})
		r.Grants(0)
		if l := r.Lines()[0]; l.Used.Calls != c.used || l.Reserved.Calls != c.held {
			t.Errorf("%s: %s used, %s reserved; want %d and %d", name, l.Used, l.Reserved, c.used, c.held)
		}
	}
}

// Where requests are granted when they come, the first that comes leaves, whatever their numbers are. A request that leaves hears with
// which others of its turn it does: with none that is refused.
func TestWhoComesFirst(t *testing.T) {
	one := budget.Amount{Calls: 1}
	r := budget.NewRounds(budget.New(budget.Config{Run: limits(t, "calls=3"), Endpoints: map[string]*budget.Limits{"near": limits(t, "tokens=1")}, Cast: cast{}}), true)
	for o := range uint32(2) {
		r.Woken(o, int(o), 1)
	}
	ask := func(n int, tokens int64) budget.Request {
		return budget.Request{Agent: 1, Number: n, Bound: one, Parts: []budget.Part{{Endpoint: "near", Bound: budget.Amount{Tokens: tokens}, First: true}}}
	}
	r.Step(1, &budget.Step{Agent: 1, Asks: []budget.Request{ask(7, 0), ask(8, 2), ask(9, 0)}})
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{{Number: 1, Bound: one}, {Number: 2, Bound: one}}})
	var got []string
	for _, g := range r.Grants(0) {
		got = append(got, fmt.Sprint(g.Agent, g.Number, g.Refused == nil, g.With))
	}
	if want := []string{"1 7 true [7 9]", "1 8 false [7 9]", "1 9 true [7 9]", "0 1 true [1]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
