package limit

import (
	"testing"
	"time"
)

// Five failures of several calls within the window open the circuit. While it is open only the call that tries makes the pause longer;
// those that left before change nothing.
func TestWhatOpensTheCircuit(t *testing.T) {
	x, y := &Call{}, &Call{}
	for name, c := range map[string]struct {
		calls []*Call
		every time.Duration
		out   int
		open  bool
	}{
		"of one call":        {[]*Call{x, x, x, x, x, x}, 1, 0, false},
		"of two":             {[]*Call{x, x, x, x, y}, 1, 0, true},
		"of two, and again":  {[]*Call{x, y, x, x, x}, 1, 0, true},
		"four":               {[]*Call{x, y, x, y}, 1, 0, false},
		"within the window":  {[]*Call{x, y, x, y, x}, breakerWindow / 4, 0, true},
		"in a longer time":   {[]*Call{x, y, x, y, x}, breakerWindow/4 + 1, 0, false},
		"few of what is out": {[]*Call{x, y, x, y, x}, 1, 24, false},
		"enough of it":       {[]*Call{x, y, x, y, x}, 1, 23, true},
	} {
		b := breaker{}
		for i, call := range c.calls {
			b.failed(time.Duration(i)*c.every+1, call, c.out)
		}
		if b.open != c.open {
			t.Errorf("%s: open %t", name, b.open)
		}
	}
	b := breaker{}
	for i := range 5 {
		b.failed(time.Duration(i), []*Call{x, y}[i%2], 0)
	}
	until := b.until
	if b.failed(time.Second, x, 0); until != 4+breakerWindow || b.until != until || b.pause != breakerWindow {
		t.Errorf("open until %s for %s, want %s", b.until, b.pause, until)
	}
	for _, want := range []time.Duration{20 * time.Second, 40 * time.Second, mostOpen, mostOpen} {
		if b.failed(until, &Call{probe: true}, 0); b.pause != want || b.until != until+want || b.probing {
			t.Errorf("the call that tried failed: open until %s for %s, want %s", b.until, b.pause, want)
		}
	}
	shut := breaker{}
	if shut.failed(1, &Call{probe: true}, 0); shut.open || shut.until != 0 {
		t.Errorf("a call that tried before the circuit closed shuts it: %+v", shut)
	}
}

// What an endpoint said is left comes back evenly until its reset, or all at once if its limit is not known.
func TestWhenEnoughIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		l    left
		n    int64
		want time.Duration
	}{
		"it said nothing":    {left{at: 10}, 9, 0},
		"it is left":         {left{at: 10, reset: 60, limit: 100, remaining: 40}, 40, 0},
		"one lacks":          {left{at: 10, reset: 60, limit: 100, remaining: 40}, 41, 11},
		"some are used":      {left{at: 10, reset: 60, limit: 100, remaining: 40, used: 20}, 40, 30},
		"more than there is": {left{at: 10, reset: 60, limit: 100, remaining: 40}, 200, 70},
		"all was left":       {left{at: 10, reset: 60, limit: 100, remaining: 100}, 101, 70},
		"no limit is known":  {left{at: 10, reset: 60, remaining: 5}, 6, 70},
	} {
		if got := c.l.enough(c.n); got != c.want {
			t.Errorf("%s: at %d, want %d", name, got, c.want)
		}
	}
	none := left{at: 10, reset: 60, remaining: 0}
	for name, c := range map[string]struct {
		left [2]left
		now  time.Duration
		want bool
	}{"neither": {}, "requests": {[2]left{none, {}}, 69, true}, "tokens": {[2]left{{}, none}, 69, true}, "again": {[2]left{none, none}, 70, false}} {
		if r := (rates{left: c.left}); r.nothingLeft(c.now) != c.want {
			t.Errorf("%s: nothing is left: %t", name, !c.want)
		}
	}
}

// Of the classes that wait the highest is next, but for a lower one that was passed over often enough, and where only interactive calls may leave.
func TestWhichClassIsNext(t *testing.T) {
	for name, c := range map[string]struct {
		waits, passed [classes]int
		only          bool
		want          int // class; -1 = none
	}{
		"none":                   {want: -1},
		"the highest":            {waits: [classes]int{0, 1, 1, 1}, want: 1},
		"interactive alone":      {waits: [classes]int{1, 1}, only: true, want: 0},
		"none is interactive":    {waits: [classes]int{0, 1}, only: true, want: -1},
		"passed not often":       {waits: [classes]int{1, 1}, passed: [classes]int{0, share - 2}, want: 0},
		"passed often":           {waits: [classes]int{1, 1}, passed: [classes]int{0, share - 1}, want: 1},
		"no more than a higher":  {waits: [classes]int{0, 1, 1}, passed: [classes]int{0, share, share}, want: 1},
		"more often than others": {waits: [classes]int{0, 1, 1}, passed: [classes]int{0, share, share + 1}, want: 2},
	} {
		q := queues{}
		for i, n := range c.waits {
			for range n {
				q.push(&Call{Class: Interactive + Class(i)}, false)
			}
			q.class[i].passed = c.passed[i]
		}
		got := -1
		if next := q.next(c.only, func(*Call) bool { return false }); next != nil {
			got = int(next.Class - Interactive)
		}
		if got != c.want {
			t.Errorf("%s: class %d, want %d", name, got, c.want)
		}
	}
}
