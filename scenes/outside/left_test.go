package outside_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/budget"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
)

// Calls of tools count, too: by their price, with the time and output of an answer. A call that must not be repeated counts by the
// answer that nobody knows its outcome, if the turn makes it again, and beside another one that the turn makes in its place.
func TestLeftCalls(t *testing.T) {
	s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
	under := func(n int, question string, repeat bool) *outside.Effect {
		e := anEffect("a", 1, n, question)
		e.Kind, e.MayRepeat, e.Most = "tool", repeat, &outside.Most{Nano: 9}
		return e
	}
	left := func(made ...int) (sum budget.Amount) {
		for _, l := range s.log.Left("a", 1, func(n int) bool { return slices.Contains(made, n-budget.ToolNumbers) }) {
			if !l.Tool() {
				t.Errorf("%+v", l)
			}
			sum = sum.Plus(l.Took())
		}
		return sum
	}
	done := effect.Answered{Kind: "tool", Number: 1, Output: "done", Latency: 3 * time.Microsecond}
	do(t, s.log, under(1, "q", true), func(context.Context) (protocol.Raw, error) { return done.AppendMsg(nil), nil })
	for n, repeat := range map[int]bool{2: true, 3: false, 4: false} {
		do(t, s.log, under(n, "q", repeat), func(context.Context) (protocol.Raw, error) {
			return nil, protocol.Errorf(protocol.KindCancelled, "killed")
		})
	}
	fs := crash(t, s.fs)
	s.close(t)
	s = open(t, fs, outside.Options{})
	answered, out := budget.Amount{Calls: 1, Nano: 9, Micro: 3, Bytes: 5}, budget.Amount{Calls: 1, Nano: 9}
	if kept := s.log.Out("a", 1); len(kept) != 1 || kept[0].Took() != answered {
		t.Errorf("of a call whose answer is kept, and nobody has taken, Out gives %+v", kept)
	}
	if got := left(); got != answered.Plus(out.Times(3)) {
		t.Errorf("of calls that are not made again %s is left", got)
	}
	if lost, kept := s.log.Open("a", false); len(lost) != 1 || lost[0].Request != budget.ToolNumbers+2 || len(kept) != 3 || kept[0].Took() != answered || kept[0].Reserved != out {
		t.Errorf("lost are %+v, kept %+v", lost, kept)
	}
	if _, found, err := s.log.Find(t.Context(), under(4, "another", false)); !found || protocol.KindOf(err) != protocol.KindUnknownOutcome {
		t.Error(found, err)
	}
	do(t, s.log, under(2, "q", true), func(context.Context) (protocol.Raw, error) { return done.AppendMsg(nil), nil })
	if got := left(1, 2, 3, 4); got != out.Times(2) {
		t.Errorf("of calls that are made again, and of one in whose place another one is, %s is left", got)
	}
	s.close(t)
}

// What an answer took that nobody takes: of a call that failed nothing, unless it was carried out, or may have been.
func TestLostOfACall(t *testing.T) {
	fails := func(kind protocol.ErrorKind) error { return protocol.Errorf(kind, "no") }
	price := budget.Amount{Calls: 1, Nano: 9}
	for name, c := range map[string]struct {
		x    effect.Answered
		want budget.Amount // none = nothing
	}{
		"an answer":          {effect.Answered{Output: "done", Latency: 3 * time.Microsecond}, price.Plus(budget.Amount{Micro: 3, Bytes: 5})},
		"an answer cut":      {effect.Answered{Output: "done", Artifacts: []tool.Artifact{{Name: tool.WholeOutput, Size: 70}}}, price.Plus(budget.Amount{Bytes: 70})},
		"no time":            {effect.Answered{Latency: -time.Second}, price},
		"a refusal":          {effect.Answered{Err: fails(protocol.KindInvalid), Latency: time.Second}, budget.Amount{}},
		"a failure":          {effect.Answered{Err: fails(protocol.KindInvalid), Carried: true, Latency: time.Microsecond}, price.Plus(budget.Amount{Micro: 1})},
		"a time-out":         {effect.Answered{Err: fails(protocol.KindTimeout)}, price},
		"an unknown outcome": {effect.Answered{Err: fails(protocol.KindUnknownOutcome)}, price},
	} {
		c.x.Kind, c.x.Number = "tool", 4
		got := budget.Amount{}
		for _, l := range outside.LostOf("a", &c.x, 9) {
			if got = l.Took(); !l.Tool() || l.Request != budget.ToolNumbers+4 || l.Agent != "a" {
				t.Errorf("%s: %+v", name, l)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
