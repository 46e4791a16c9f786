package spending_test

import (
	"testing"

	"tavernsim/engine/budget"
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
			book.Paid("ada", 1, "", budget.Amount{Calls: 1}, budget.Amount{Calls: 1})
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
