package outside_test

import (
	"context"
	"testing"

	"tavernsim/persistence/pebbledb"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/outside"
)

// Promise 1: a call of a tool that may be repeated leaves without a note; it is kept with its answer, in one wave. A kill before
// leaves nothing, and it is asked as for the first time. One that must not be repeated is noted first, as a request to a model is.
func TestKeptWithItsAnswer(t *testing.T) {
	of := func(turn uint64) *outside.Effect {
		e := anEffect("a", turn, 1, "q")
		e.Kind = setup.KindTool
		return e
	}
	call := func() *outside.Effect { return of(1) }
	s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
	defer s.close(t)
	var during pebbledb.FS
	do(t, s.log, call(), func(context.Context) (protocol.Raw, error) {
		if during = crash(t, s.fs); s.log.Begin(call(), nil) != nil {
			t.Error("it leaves twice")
		}
		if wave, _ := s.log.Span(); wave.Number != 0 {
			t.Errorf("wave %d is kept", wave.Number)
		}
		return protocol.Encode("one"), nil
	})
	if wave, _ := s.log.Span(); wave.Number != 1 || wave.Total == 0 {
		t.Errorf("kept: %+v", wave)
	}
	for want, x := range map[string]struct {
		left    pebbledb.FS
		outcome string
	}{"two": {during, "requested"}, "one": {crash(t, s.fs), "reused"}} {
		after := open(t, x.left, outside.Options{})
		if got := do(t, after.log, call(), says("two")); got != want || after.count(x.outcome) != 1 {
			t.Errorf("%s, %d %s; want %s", got, after.count(x.outcome), x.outcome, want)
		}
		after.close(t)
	}
	for _, e := range []*outside.Effect{once(of(2)), anEffect("a", 3, 1, "q")} {
		if f := s.log.Begin(e, func(error) {}); f.MayLeave() {
			t.Errorf("%+v leaves without a note", e)
		} else {
			f.Fail(nil)
		}
	}
}
