package outside_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
)

// does is an executor that is a function.
type does func(ctx context.Context, q *effect.Ask) effect.Answered

// Name implements outside.Executor.
func (does) Name() string { return "test" }

// MayRepeat implements outside.Executor.
func (does) MayRepeat(*effect.Ask) bool { return true }

// Do implements outside.Executor.
func (f does) Do(ctx context.Context, q *effect.Ask) effect.Answered { return f(ctx, q) }

// atOnce is one that is instant.
type atOnce struct{ does }

// Answer implements outside.Instant.
func (f atOnce) Answer(q *effect.Ask) effect.Answered { return f.does(nil, q) }

func table(t testing.TB, entries ...outside.Entry) *outside.Runner {
	t.Helper()
	r, err := outside.New(entries, outside.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// start asks for something; the answer is sent when it comes.
func start(ctx context.Context, r *outside.Runner, kind string) <-chan *effect.Answered {
	got := make(chan *effect.Answered, 1)
	q := &effect.Ask{Kind: kind, Number: 1, Timeout: time.Second}
	r.Go(ctx, outside.From{Agent: "a", Turn: 1, Urgency: outside.NewUrgency(false)}, q, func(x *effect.Answered) { got <- x })
	*q = effect.Ask{} // it is the caller's again
	return got
}

// Whatever an executor does wrong is the failure of that request.
func TestBadExecutors(t *testing.T) {
	deep := any(nil)
	for range protocol.MaxNested + 1 {
		deep = []any{deep}
	}
	r := table(t,
		outside.Entry{Kind: "deep", Executor: does(func(context.Context, *effect.Ask) effect.Answered { return effect.Answered{Output: deep} })},
		outside.Entry{Kind: "panics", Executor: does(func(context.Context, *effect.Ask) effect.Answered { panic("fell over") })},
		outside.Entry{Kind: "no value", Executor: does(func(context.Context, *effect.Ask) effect.Answered { return effect.Answered{Output: make(chan int)} })},
		outside.Entry{Kind: "wrong", Executor: does(func(context.Context, *effect.Ask) effect.Answered {
			return effect.Answered{Kind: "other", Number: 7, Output: 3}
		})},
	)
	for kind, want := range map[string]protocol.ErrorKind{"panics": protocol.KindInternal, "no value": protocol.KindInvalid, "deep": protocol.KindInvalid, "nobody": protocol.KindUnknown} {
		if x := <-start(t.Context(), r, kind); protocol.KindOf(x.Err) != want || x.Number != 1 {
			t.Errorf("%s: %+v", kind, x)
		}
	}
	if x := <-start(t.Context(), r, "wrong"); x.Err != nil || x.Kind != "wrong" || x.Number != 1 || x.Output != int64(3) {
		t.Errorf("%+v", x)
	}
	r.Wait()
}

// Limits: an executor that does not return when its time is over keeps no request
// waiting; as many of these as it has slots, and it is asked no more. Executors of
// other kinds have slots of their own.
func TestStuckExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := table(t,
			outside.Entry{Kind: "stuck", AtOnce: 1, Executor: does(func(context.Context, *effect.Ask) effect.Answered { <-release; return effect.Answered{} })},
			outside.Entry{Kind: "quick", AtOnce: 1, Executor: does(func(context.Context, *effect.Ask) effect.Answered { return effect.Answered{Output: "x"} })},
		)
		first := start(t.Context(), r, "stuck")
		synctest.Wait()
		if x := <-start(t.Context(), r, "quick"); x.Err != nil {
			t.Error(x.Err)
		}
		if x := <-first; protocol.KindOf(x.Err) != protocol.KindTimeout {
			t.Errorf("%+v", x)
		}
		if x := <-start(t.Context(), r, "stuck"); protocol.KindOf(x.Err) != protocol.KindTransient {
			t.Errorf("%+v", x)
		}
		r.Wait()
		close(release)
		synctest.Wait()
		if x := <-start(t.Context(), r, "stuck"); x.Err != nil {
			t.Errorf("it has returned: %+v", x)
		}
		if l := r.Gates("stuck")[0].Load(); l != (limit.Load{Limit: 1}) {
			t.Errorf("%+v", l)
		}
	})
}

// A request ends with the deliberation that asked, wherever it is.
func TestRequestsEndWithTheirDeliberation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := table(t, outside.Entry{Kind: "slow", AtOnce: 1, Executor: does(func(ctx context.Context, _ *effect.Ask) effect.Answered {
			<-ctx.Done()
			return effect.Answered{Err: ctx.Err()}
		})})
		ctx, cancel := context.WithCancel(t.Context())
		out, queued := start(ctx, r, "slow"), start(ctx, r, "slow")
		synctest.Wait()
		cancel()
		for _, x := range []*effect.Answered{<-out, <-queued} {
			if x.Err == nil {
				t.Errorf("%+v", x)
			}
		}
		r.Wait()
	})
}

// Instant is a property of an executor: one that is answers on the caller's
// goroutine, unless something must pass in realtime.
func TestInstantExecutors(t *testing.T) {
	f := does(func(_ context.Context, q *effect.Ask) effect.Answered {
		return effect.Answered{Output: "x", Latency: q.Timeout}
	})
	made := 0
	r, err := outside.New([]outside.Entry{{Kind: "instant", Executor: atOnce{f}}}, outside.Watch{Made: func(_ string, _ *effect.Ask, _ *effect.Answered, took time.Duration) {
		if made++; took != 0 {
			t.Errorf("an instant answer was timed: %s", took)
		}
	}})
	if err != nil || r.TakesTime() {
		t.Error("all are instant", err)
	}
	for _, c := range []struct {
		q        effect.Ask
		realtime bool
		now      bool
	}{
		{effect.Ask{Wait: 1, Timeout: 1}, false, true}, {effect.Ask{}, true, true}, {effect.Ask{Wait: 1}, true, false}, {effect.Ask{Timeout: 1}, true, false},
	} {
		c.q.Kind, c.q.Number = "instant", 4
		if x := r.Now(&c.q, c.realtime); (x != nil) != c.now || x != nil && (x.Kind != "instant" || x.Number != 4 || x.Output != "x") {
			t.Errorf("%+v: %+v", c, x)
		}
	}
	if made != 2 {
		t.Errorf("%d answers were counted, want 2", made)
	}
	r = table(t, outside.Entry{Kind: "instant", Executor: atOnce{f}}, outside.Entry{Kind: "slow", Executor: f})
	if !r.TakesTime() || r.Now(&effect.Ask{Kind: "slow"}, false) != nil {
		t.Error("one takes time")
	}
}

// A table with two executors for a kind, or without one, is refused.
func TestBadTables(t *testing.T) {
	for _, entries := range [][]outside.Entry{
		{{Kind: "x", Executor: does(nil)}, {Kind: "x", Executor: does(nil)}}, {{Executor: does(nil)}}, {{Kind: "x"}},
	} {
		if _, err := outside.New(entries, outside.Watch{}); protocol.KindOf(err) != protocol.KindInvalid {
			t.Error(err)
		}
	}
}
