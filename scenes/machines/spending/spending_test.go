package spending_test

import (
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/spending"
)

type pair struct{}

func (pair) Name(o uint32) string  { return [...]string{"ada", "bo"}[o] }
func (pair) Profile(uint32) string { return "p" }
func (pair) Ordinal(id string) (uint32, bool) {
	return map[string]uint32{"ada": 0, "bo": 1}[id], id == "ada" || id == "bo"
}

// What a turn took before a kill, or a failure, is spent until the turn begins again: a wave before that gets nothing of it, and does
// not wait for it, as nothing of the turn comes there. The wave in which the turn begins again waits for it.
func TestATurnThatBeginsAgainLater(t *testing.T) {
	b, err := budget.Parse("calls=2")
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.Limits(budget.Refuse)
	if err != nil {
		t.Fatal(err)
	}
	book := spending.New(&budget.Config{Run: run, Cast: pair{}}, false)
	book.Resumes("ada", func(over bool) {
		if over {
			book.Lost("ada", 1, "", budget.Amount{Calls: 1})
		} else {
			book.Paid("ada", 1, "", 0, budget.Amount{Calls: 1}, budget.Amount{Calls: 1})
		}
	})
	worst := func(uint32) (models, tools budget.Amount) { return budget.Amount{Calls: 9}, budget.Amount{} }
	wave := func(n uint64, most int64, order ...uint32) (granted, refused int) {
		book.Open(0, order, worst)
		for place, o := range order {
			book.Woken(o, place, n, 0)
			book.Step(n, &budget.Step{Agent: o, Asks: []budget.Request{{Agent: o, Number: 1, Bound: budget.Amount{Calls: most}, Paid: o == 0}}})
		}
		for _, g := range book.Grants(0) {
			if g.Refused != nil {
				refused++
			} else {
				granted++
			}
		}
		for _, o := range order {
			book.Merged(o)
		}
		return granted, refused
	}
	if granted, refused := wave(1, 2, 1); granted != 0 || refused != 1 {
		t.Errorf("before the turn begins again %d requests leave, and %d are refused; want one refused, which needs all of the budget", granted, refused)
	}
	if granted, refused := wave(2, 1, 1); granted != 1 || refused != 0 {
		t.Errorf("before the turn begins again %d requests leave, and %d are refused; want the one that fits beside it", granted, refused)
	}
	if granted, refused := wave(3, 2, 0, 1); granted != 1 || refused != 0 {
		t.Errorf("beside it %d requests leave, and %d are refused; want its own, and the other waits", granted, refused)
	}
}

// A wave wakes few turns at once. What a later turn of it took before a failure is spent until that turn is woken, and reserved from then on:
// an earlier one, which must end before that, never waits for it.
func TestATurnThatIsWokenLater(t *testing.T) {
	for limit, want := range map[string]string{"tokens=100": "+", "tokens=70": "-"} { // the turn of ada took 20 of the 60 that it could take
		b, err := budget.Parse(limit)
		if err != nil {
			t.Fatal(err)
		}
		run, err := b.Limits(budget.Refuse)
		if err != nil {
			t.Fatal(err)
		}
		book := spending.New(&budget.Config{Run: run, Cast: pair{}}, false)
		most, took := budget.Amount{Tokens: 60}, budget.Amount{Tokens: 20}
		book.Resumes("ada", func(over bool) {
			if over {
				book.Lost("ada", 1, "", took)
			} else {
				book.Paid("ada", 1, "", 0, most, took)
			}
		})
		book.Open(0, []uint32{1, 0}, func(uint32) (models, tools budget.Amount) { return budget.Amount{Tokens: 1000}, budget.Amount{} })
		step := func(o uint32, done int, ask *budget.Request) (got string) {
			s := budget.Step{Agent: o, Done: done}
			if done > 0 {
				s.Took = took
			}
			if ask != nil {
				s.Asks = []budget.Request{*ask}
			}
			if book.Step(1, &s); ask == nil {
				book.Over(o)
			}
			for _, g := range book.Grants(0) {
				if got += "+"; g.Refused != nil {
					got = "-"
				}
			}
			return got
		}
		book.Woken(1, 0, 1, 0)
		if got := step(1, 0, &budget.Request{Agent: 1, Number: 1, Bound: most}); got != want {
			t.Errorf("%s: %q, want %q: the earlier turn must not wait for the later", limit, got, want)
		}
		if want == "-" {
			continue
		}
		book.Woken(0, 1, 1, 0)
		if got := step(1, 1, &budget.Request{Agent: 1, Number: 2, Bound: budget.Amount{Tokens: 30}}); got != "" {
			t.Errorf("%s: %q while the later turn computes", limit, got)
		}
		if got := step(0, 0, &budget.Request{Agent: 0, Number: 1, Bound: most, Paid: true}); got != "+" {
			t.Errorf("%s: %q; want the kept answer alone, which reserves 60 of the 80 that are left", limit, got)
		}
		if got := step(0, 1, nil); got != "+" {
			t.Errorf("%s: then %q", limit, got)
		}
	}
}

// The answers of a call that the very wave is to make again reserve what it did: no time and no output, so others leave beside it as they
// did before the kill. The answer of a call that an earlier wave made reserves the time that it took: others wait, and are refused then.
func TestTimeOfToolsOfAnEarlierWave(t *testing.T) {
	for made, want := range map[protocol.Time]int{7: 1, 3: 0} {
		book := spending.New(&budget.Config{Tools: &budget.Limits{Amount: budget.Amount{Micro: 30}, On: budget.Action{Do: budget.Refuse}}, Cast: pair{}}, false)
		call := budget.Amount{Calls: 1}
		book.Resumes("ada", func(over bool) {
			if took := (budget.Amount{Calls: 1, Micro: 30}); over {
				book.Lost("ada", budget.ToolNumbers+1, "", took)
			} else {
				book.Paid("ada", budget.ToolNumbers+1, "", made, call, took)
			}
		})
		book.Open(7, []uint32{0, 1}, func(uint32) (models, tools budget.Amount) { return budget.Amount{}, budget.Amount{Micro: 1000} })
		for o := range uint32(2) {
			book.Woken(o, int(o), 1, 7)
		}
		for o := range uint32(2) {
			book.Step(1, &budget.Step{Agent: o, Asks: []budget.Request{{Agent: o, Number: budget.ToolNumbers + 1, Bound: call, Tool: true, Paid: o == 0}}})
		}
		if grants := book.Grants(7); len(grants) != 1+want {
			t.Errorf("a call made at %d, begun anew at 7: %d of others leave beside it, want %d", made, len(grants)-1, want)
		}
	}
}

// What a turn took that failed, and failed again before it was begun anew, counts once, and is charged when its agent leaves
// or the scene ends.
func TestATurnThatIsNotBegunAgain(t *testing.T) {
	b, err := budget.Parse("calls=20")
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.Limits(budget.Refuse)
	if err != nil {
		t.Fatal(err)
	}
	for name, over := range map[string]func(*spending.Book) []budget.Loss{
		"its agent leaves": func(b *spending.Book) []budget.Loss { return b.Cut(0, true) },
		"the scene ends": func(b *spending.Book) []budget.Loss {
			if rest := b.Rest(); len(rest) == 1 {
				return rest[0].Took
			}
			return nil
		},
	} {
		book := spending.New(&budget.Config{Run: run, Cast: pair{}}, false)
		for range 2 {
			book.Resumes("ada", func(over bool) {
				if !over {
					t.Error(name, "is begun again")
				}
				book.Lost("ada", 1, "", budget.Amount{Calls: 3})
			})
			book.Cut(0, false)
		}
		if took := over(book); len(took) != 1 || took[0].Calls != 3 {
			t.Errorf("%s: %+v", name, took)
		}
		if rest := book.Rest(); len(rest) > 0 {
			t.Errorf("%s: then %+v", name, rest)
		}
	}
}

// What an answer took is charged to the agent's budgets, and to that of its endpoint, if it has one; what a recorded one would
// have cost is saved. A turn knows which budgets there are, and how much of the tightest is used.
func TestAnswersAreCharged(t *testing.T) {
	limits := &budget.Limits{Amount: budget.Amount{Calls: 8}}
	for name, c := range map[string]struct {
		origin *effect.Origin
		want   map[string]int64 // calls of each ledger
		saved  int64
	}{
		"computed here":  {nil, map[string]int64{"run": 1}, 0},
		"of an endpoint": {&effect.Origin{Endpoint: "e"}, map[string]int64{"run": 1, "endpoint:e": 1}, 0},
		"recorded":       {&effect.Origin{Endpoint: "e", Budget: &protocol.ModelBudget{Saved: true}}, map[string]int64{}, 1},
	} {
		book := spending.New(&budget.Config{Run: limits, Endpoints: map[string]*budget.Limits{"e": limits}, Cast: pair{}}, true)
		book.Answered("ada", 0, &agentfact.ModelAnswered{Origin: c.origin})
		book.Answered("nobody", 0, &agentfact.ModelAnswered{})
		ledgers, _ := book.Kept()
		saved := int64(0)
		for _, l := range ledgers {
			saved = max(saved, l.Saved.Calls)
			if l.Used.Calls != c.want[l.Name] {
				t.Errorf("%s: %s has %d calls, want %d", name, l.Name, l.Used.Calls, c.want[l.Name])
			}
		}
		if saved != c.saved {
			t.Errorf("%s: %d calls are saved, want %d", name, saved, c.saved)
		}
		want := spending.WakeBudget{ByGrant: true, Models: true, Used: float64(len(c.want)/max(len(c.want), 1)) / 8}
		if got := book.Woken(0, 0, 1, 0); *got != want {
			t.Errorf("%s: a turn knows %+v, want %+v", name, *got, want)
		}
	}
	tools := spending.New(&budget.Config{Tools: limits, Cast: pair{}}, true)
	if got, want := *tools.Woken(0, 0, 1, 0), (spending.WakeBudget{ByGrant: true, Tools: true}); got != want {
		t.Errorf("a turn with a budget of tools knows %+v, want %+v", got, want)
	}
}
