package outside_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"tavernsim/persistence/format"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
)

// Promise 5: without a disk nothing leaves, nobody is answered, and the scene
// hears of it, once.
func TestDiskFails(t *testing.T) {
	defer goleak.VerifyNone(t)
	var full atomic.Bool
	disk := persistencetest.FailingDisk(persistencetest.MemDisk(), func(op persistencetest.DiskOp) error {
		if full.Load() && op.Write {
			return syscall.ENOSPC
		}
		return nil
	})
	failed := make(chan error, 9)
	s := open(t, disk, outside.Options{Failed: func(err error) { failed <- err }})
	do(t, s.log, anEffect("a", 1, 1, "q"), says("one"))
	full.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, 3)
	for i := range 3 {
		go func() {
			_, err := s.log.Do(ctx, anEffect(fmt.Sprint("b", i), 1, 1, "q"), mustNot(t))
			results <- err
		}()
	}
	if err := <-failed; protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("failed with %v", err)
	}
	select {
	case err := <-results:
		t.Errorf("answered: %v", err)
	default:
	}
	if got := do(t, s.log, anEffect("a", 1, 1, "q"), mustNot(t)); got != "one" {
		t.Errorf("what was kept is gone: %s", got)
	}
	cancel()
	for range 3 {
		if err := <-results; protocol.KindOf(err) != protocol.KindCancelled {
			t.Error(err)
		}
	}
	_ = s.log.Close()
	_ = s.store.Close()
	if len(failed) > 0 {
		t.Error("it was told twice")
	}
}

// An answer that does not fit into a fact is an error, and the log goes on. A request that does not fit is not carried out, also
// if it needs no note before it leaves.
func TestTooLarge(t *testing.T) {
	s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
	defer s.close(t)
	if got := do(t, s.log, anEffect("a", 1, 1, "q"), says(strings.Repeat("x", 65<<20))); got != "limit" {
		t.Errorf("got %.20q", got)
	}
	e := anEffect(strings.Repeat("a", format.MaxActor+1), 1, 1, "q")
	e.Kind, e.MayRepeat = "tool", true
	if got := do(t, s.log, e, func(context.Context) (protocol.Raw, error) {
		t.Error("it was carried out")
		return protocol.Encode("done"), nil
	}); got != "limit" {
		t.Errorf("got %.20q", got)
	}
	if got := do(t, s.log, anEffect("a", 1, 2, "q"), says("small")); got != "small" {
		t.Errorf("got %q", got)
	}
}

// A nil log keeps nothing.
func TestNoLog(t *testing.T) {
	var l *outside.Log
	if _, found, err := l.Find(t.Context(), anEffect("a", 1, 1, "q")); found || err != nil {
		t.Error(found, err)
	}
	l.Ended("a", 1, 1)
	l.GivenUp("a", 1)
	l.Kept(1)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Whatever happens in whatever order, with kills in between: an answer that was
// heard stays the answer until another question takes its place, and a place of
// what may not be repeated is carried out at most once.
func TestRandomKills(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		type place struct {
			turn    uint64
			request int
		}
		last, carried := map[place][2]string{}, map[place]int{}
		s := open(t, persistencetest.NewCrashDisk(), outside.Options{DropBytes: 500})
		defer func() { s.close(t) }()
		for step := range rapid.IntRange(1, 40).Draw(r, "steps") {
			if rapid.IntRange(0, 4).Draw(r, "kill") == 0 {
				left := crash(t, s.fs)
				s.close(t)
				s = open(t, left, outside.Options{DropBytes: 500})
			}
			at := place{uint64(rapid.IntRange(1, 2).Draw(r, "turn")), rapid.IntRange(1, 3).Draw(r, "request")}
			question, dies := rapid.SampledFrom([]string{"p", "q"}).Draw(r, "question"), rapid.Bool().Draw(r, "dies")
			e := anEffect("a", at.turn, at.request, question)
			e.MayRepeat = at.request != 3
			got := do(t, s.log, e, func(ctx context.Context) (protocol.Raw, error) {
				if carried[at]++; dies {
					return died(ctx)
				}
				return protocol.Encode(fmt.Sprint("step ", step)), nil
			})
			before := last[at]
			switch {
			case before[0] == question && before[1] != "" && got != before[1]:
				r.Fatalf("%v %s: heard %q, then %q", at, question, before[1], got)
			case !e.MayRepeat && carried[at] > 1:
				r.Fatalf("%v was carried out %d times", at, carried[at])
			case strings.HasPrefix(got, "step"):
				last[at] = [2]string{question, got}
			case e.MayRepeat:
				last[at] = [2]string{question, ""}
			}
		}
	})
}

// The bytes of docs/formats/effects.md decode; a log of another version is
// refused by name.
func FuzzReadFact(f *testing.F) {
	for _, raw := range outside.Samples() {
		f.Add(true, []byte(raw))
		f.Add(false, []byte(raw))
	}
	f.Fuzz(func(t *testing.T, requested bool, b []byte) {
		kind := outside.FactAnswered
		if requested {
			kind = outside.FactRequested
		}
		again, err := outside.Reencode(kind, b)
		if err != nil {
			return
		}
		if twice, err := outside.Reencode(kind, again); err != nil || !slices.Equal(twice, again) {
			t.Fatalf("%x, then %x: %v", again, twice, err)
		}
	})
}

func TestUnknownFact(t *testing.T) {
	if _, err := outside.Reencode("effect.withdrawn", nil); protocol.KindOf(err) != protocol.KindUnknown || !strings.Contains(err.Error(), "effect.withdrawn") {
		t.Error(err)
	}
}
