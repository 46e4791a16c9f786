package outside

import (
	"fmt"
	"testing"

	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// Of calls that are alike the one asks that leaves first: of the most urgent class, then of the earliest turn. Once one was sent, all
// others wait for it.
func TestWhoAsks(t *testing.T) {
	for _, c := range []struct {
		name  string
		phase phase // of the first one
		class limit.Class
		at    int64
		asks  bool
	}{
		{"a later one", waits, limit.Normal, 6, false},
		{"one of the same time", waits, limit.Normal, 5, false},
		{"an earlier one", waits, limit.Normal, 4, true},
		{"a more urgent one", waits, limit.Urgent, 6, true},
		{"an earlier one, the first was sent", out, limit.Normal, 4, false},
		{"a more urgent one, the first was sent", out, limit.Urgent, 6, false},
	} {
		var s shares
		first, second := &call{same: "q"}, &call{same: "q"}
		first.Rank.At, second.Rank.At = 5, c.at
		s.enter(first, limit.Normal)
		first.phase = c.phase
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
	if next := s.left(third, false); len(next) > 0 || len(s.by) > 0 {
		t.Errorf("%d ask, and %d questions are open", len(next), len(s.by))
	}
}
