package machines

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agenda"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
)

// Letters of one moment are carried out in their own order, whenever each came and however often
// the stage looked for its next order in between.
func TestLettersOfOneMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := func(by, id string, after int) *Order {
			return &Order{Intervened: &agenda.Intervened{ID: id, By: by}, After: time.Duration(after) * time.Second}
		}
		var file Waiting
		for i := range rapid.IntRange(0, 3).Draw(t, "orders of the file") {
			file = append(file, order("gm", fmt.Sprint("o", i), rapid.IntRange(1, 3).Draw(t, "after")))
		}
		var letters []*Order
		for i := range rapid.IntRange(1, 6).Draw(t, "letters") {
			letters = append(letters, order(travel.By, fmt.Sprint(travel.By, "/", i), rapid.IntRange(1, 3).Draw(t, "after")))
		}
		carriedOut := func(letters []*Order, looks bool) (ids []string) {
			w := slices.Clone(file)
			for _, l := range letters {
				w.add(l)
				if looks && rapid.Bool().Draw(t, "looks") {
					w.first(w.timed(1))
				}
			}
			for len(w) > 0 {
				w.first(w.timed(1))
				ids = append(ids, w.take().ID)
			}
			return ids
		}
		want := carriedOut(letters, false)
		if got := carriedOut(rapid.Permutation(letters).Draw(t, "came"), true); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// The next order with a time is the earliest of those whose wave may come, at a tick that is not past; of one time the
// first that came.
func TestTheNextOrder(t *testing.T) {
	const start = protocol.Time(1_000_000_000)
	at := func(id string, after time.Duration, wave uint64) *Order {
		return &Order{Intervened: &agenda.Intervened{ID: id}, After: after, Wave: wave}
	}
	for _, c := range []struct {
		now    time.Duration // since the start
		orders []*Order
		id     string
		time   time.Duration
	}{
		{0, nil, "", 0},
		{0, []*Order{at("now", 0, 0), at("wave", 0, 9)}, "", 0}, // without a time
		{0, []*Order{at("late", 3*time.Second, 0), at("soon", time.Second, 0), at("later", 2*time.Second, 0)}, "soon", time.Second},
		{0, []*Order{at("now", 0, 0), at("first", 2*time.Second, 0), at("second", 2*time.Second, 0)}, "first", 2 * time.Second},
		{0, []*Order{at("beyond", time.Second, 4), at("wave", 2*time.Second, 3)}, "wave", 2 * time.Second},
		{0, []*Order{at("between", 1500*time.Millisecond, 0)}, "between", 2 * time.Second},
		{5 * time.Second, []*Order{at("past", time.Second, 0)}, "past", 5 * time.Second},
	} {
		s := &Stage{shared: shared{StageState: &StageState{Agenda: agenda.New(agenda.Config{Start: start, Tick: time.Second}), View: &View{}}}, Waiting: c.orders}
		s.Agenda.Start(start)
		s.Agenda.Wave, s.Agenda.Now = 2, start.Add(c.now)
		was, some, _, i := s.soonest()
		switch {
		case some != (c.id != "") || some != (i >= 0):
			t.Errorf("%s: found %v, %d", c.id, some, i)
		case some && (s.Waiting[i].ID != c.id || was != start.Add(c.time)):
			t.Errorf("%s at %v, want %s at %v", s.Waiting[i].ID, was.Sub(start), c.id, c.time)
		}
	}
}

// Who looks what a scene that has ended did not do is told of orders, and of no letter.
func TestUnreached(t *testing.T) {
	var w Waiting
	for _, x := range [][2]string{{travel.By, "letter"}, {"gm", "order"}, {"", "file"}, {travel.By, "other"}} {
		w = append(w, &Order{Intervened: &agenda.Intervened{By: x[0], ID: x[1]}})
	}
	var ids []string
	for _, o := range w.Unreached() {
		ids = append(ids, o.ID)
	}
	if !slices.Equal(ids, []string{"order", "file"}) || len(w) != 4 {
		t.Errorf("unreached are %q of %d", ids, len(w))
	}
}
