package outside

import (
	"fmt"
	"testing"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// Of calls that are alike the one asks that leaves first: of the most urgent class, then of the earliest turn. Once one was sent, all
// others wait for it.
func TestWhoAsks(t *testing.T) {
	for _, c := range []struct {
		name  string
		phase phase // of the first one
		sent  bool  // before; it waits for its next attempt
		class limit.Class
		at    int64
		asks  bool
	}{
		{"a later one", waits, false, limit.Normal, 6, false},
		{"one of the same time", waits, false, limit.Normal, 5, false},
		{"an earlier one", waits, false, limit.Normal, 4, true},
		{"a more urgent one", waits, false, limit.Urgent, 6, true},
		{"an earlier one, the first was sent", out, false, limit.Normal, 4, false},
		{"a more urgent one, the first was sent", out, false, limit.Urgent, 6, false},
		{"a more urgent one, the first was refused", waits, true, limit.Urgent, 6, false},
	} {
		var s shares
		first, second := &call{same: "q"}, &call{same: "q"}
		first.Rank.At, second.Rank.At = 5, c.at
		s.enter(first, limit.Normal)
		if first.phase = c.phase; c.sent {
			first.flight = &Flight{}
		}
		if _, follows := s.enter(second, c.class); follows == c.asks || second.phase == waitsFor == c.asks {
			t.Errorf("%s waits for the first: %t", c.name, follows)
		}
	}
}

// Answers are kept until they exceed the bound: then the oldest go, and no more of them.
func TestAnswersAreBounded(t *testing.T) {
	var s shares
	answer := func(n int) protocol.Raw {
		raw, _ := s.enter(&call{same: fmt.Sprint(n)}, limit.Normal)
		return raw
	}
	for n := range 6 {
		c := &call{same: fmt.Sprint(n)}
		s.enter(c, limit.Normal)
		s.answered(c, make(protocol.Raw, mostShared/3))
	}
	for n := range 6 {
		if kept := s.get(fmt.Sprint(n)) != nil; kept != (n >= 3) || kept != (answer(n) != nil) {
			t.Errorf("answer %d of 6 is kept: %t", n+1, kept)
		}
	}
	last := &call{same: "6"}
	s.enter(last, limit.Normal)
	if s.answered(last, make(protocol.Raw, mostShared+1)); s.get("6") == nil || s.get("5") != nil {
		t.Error("the last answer is kept, however large, and no other beside it")
	}
}

// What ends without an answer leaves nothing behind, and who does not ask ends without a trace.
func TestSharesEnd(t *testing.T) {
	var s shares
	first, second, third := &call{same: "q"}, &call{same: "q"}, &call{same: "q"}
	for _, c := range []*call{first, second, third} {
		s.enter(c, limit.Normal)
	}
	if next := s.left(second, true); len(next) > 0 || s.by["q"].lead != first {
		t.Errorf("%d ask although the first one does", len(next))
	}
	if next := s.left(first, false); len(next) != 1 || next[0] != third || s.by["q"].lead != third {
		t.Errorf("%d ask in the place of the first one", len(next))
	}
	fourth, fifth := &call{same: "q"}, &call{same: "q"}
	if next := s.left(third, true); len(next) > 0 {
		t.Errorf("%d ask when the last one has failed", len(next))
	}
	first.phase, second.phase = finds, finds
	for _, c := range []*call{first, second, fourth} {
		s.enter(c, limit.Normal)
	}
	if next := s.left(first, true); len(next) != 2 {
		t.Errorf("%d of 2 ask after a failure", len(next))
	}
	third.phase = finds
	for _, c := range []*call{third, fifth} {
		if _, follows := s.enter(c, limit.Normal); follows {
			t.Error("one that asks after a failure waits for another one")
		}
	}
	for _, c := range []*call{second, third, fourth, fifth} {
		if next := s.left(c, false); len(next) > 0 {
			t.Errorf("%d ask in the place of one for which nobody waits", len(next))
		}
	}
	if len(s.by) > 0 {
		t.Errorf("%d questions are open", len(s.by))
	}
}

// The turn takes an answer that is there or to come, and the failure of a call that must not be repeated. A request to a model has
// none of that kind.
func TestWhatATurnMayTake(t *testing.T) {
	for _, c := range []struct {
		p    place
		want bool
	}{
		{place{answer: 1}, true}, {place{flight: &Flight{}}, true}, {place{}, true}, {place{repeat: true}, false}, {place{key: placeKey{kind: effect.KindModel}}, false},
	} {
		if c.p.kept() != c.want {
			t.Errorf("%+v: %t", &c.p, !c.want)
		}
	}
}
