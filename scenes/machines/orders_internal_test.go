package machines

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agenda"
	"tavernsim/engine/travel"
)

// Letters of one moment are carried out in their own order, whenever each came and however often
// the stage looked for its next order in between.
func TestLettersOfOneMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := func(by, id string, after int) *Order {
			return &Order{Intervened: &agenda.Intervened{ID: id, By: by}, After: time.Duration(after) * time.Second}
		}
		s := &Stage{Agenda: &agenda.State{}}
		for i := range rapid.IntRange(0, 3).Draw(t, "orders of the file") {
			s.orders = append(s.orders, order("gm", fmt.Sprint("o", i), rapid.IntRange(1, 3).Draw(t, "after")))
		}
		var letters []*Order
		for i := range rapid.IntRange(1, 6).Draw(t, "letters") {
			letters = append(letters, order(travel.By, fmt.Sprint(travel.By, "/", i), rapid.IntRange(1, 3).Draw(t, "after")))
		}
		carriedOut := func(letters []*Order, looks bool) (ids []string) {
			s := &Stage{Agenda: s.Agenda, orders: slices.Clone(s.orders)}
			for _, l := range letters {
				s.orders = slices.Insert(s.orders, l.place(s.orders), l)
				if looks && rapid.Bool().Draw(t, "looks") {
					s.first(s.nextOrder())
				}
			}
			for len(s.orders) > 0 {
				s.first(s.nextOrder())
				ids = append(ids, s.orders[0].ID)
				s.orders = s.orders[1:]
			}
			return ids
		}
		want := carriedOut(letters, false)
		if got := carriedOut(rapid.Permutation(letters).Draw(t, "came"), true); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}
