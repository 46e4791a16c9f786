package outside_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
)

// lateOracle is an endpoint whose request of the agent "late" takes until its time is over, and so much longer.
type lateOracle struct {
	*oracleOf
	longer time.Duration
}

func (o lateOracle) Complete(ctx context.Context, q *protocol.ModelRequest, to llm.Sink) (protocol.ModelAnswer, error) {
	if q.Agent != "late" {
		return o.oracleOf.Complete(ctx, q, to)
	}
	<-ctx.Done()
	if o.longer > 0 {
		<-time.After(o.longer)
	}
	return protocol.ModelAnswer{}, llm.Stopped(ctx, "oracle")
}

func lateAt(t *testing.T, longer time.Duration, opt limit.Options) *asker {
	t.Helper()
	o := &oracleOf{gate: gate.New("cloud", opt)}
	a := &asker{runner: table(t, outside.Entry{Kind: effect.KindModel, Executor: outside.Model(lateOracle{o, longer}, nil)}), got: map[string]string{}}
	a.shelf = open(t, persistencetest.MemDisk(), outside.Options{})
	a.runner.Log = a.log
	return a
}

// asks is ask of a question of the agent's own.
func (a *asker) asks(ctx context.Context, agent string, turn uint64, within time.Duration) {
	q := &effect.Ask{Kind: effect.KindModel, Number: 1, Timeout: within, Model: protocol.ModelRequest{Agent: agent, Messages: []protocol.ModelMessage{{Text: fmt.Sprint(agent, turn)}}}}
	a.wg.Add(1)
	a.runner.Go(ctx, outside.From{Scene: "s", Agent: agent, Turn: turn, Class: limit.Normal, Virtual: true}, q, func(x *effect.Answered) {
		defer a.wg.Done()
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.got[fmt.Sprint(agent, turn)] = "answer"; x.Err != nil {
			a.got[fmt.Sprint(agent, turn)] = string(protocol.KindOf(x.Err))
		}
	})
}

// An attempt that is cancelled, or whose time is over, is not stuck while its executor has a moment to return: those that
// wait behind it are sent, however narrow the endpoint is.
func TestAnEndedAttemptIsNotStuck(t *testing.T) {
	for _, width := range []int{1, 2} {
		for _, cancels := range []bool{true, false} {
			for _, longer := range []time.Duration{0, time.Second} {
				synctest.Test(t, func(t *testing.T) {
					a := lateAt(t, longer, limit.Options{Concurrency: width, Fixed: true, Kept: -1, Retries: -1})
					defer a.close(t)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					for i := range width {
						a.asks(ctx, "late", uint64(i+1), 10*time.Second)
					}
					synctest.Wait()
					for i := range 20 {
						a.asks(t.Context(), fmt.Sprint(i), 1, 0)
					}
					if cancels {
						cancel()
					}
					if n := a.have(); n["answer"] != 20 || n["cancelled"]+n["timeout"] != width {
						t.Errorf("width %d, cancelled %v, %s longer: %v", width, cancels, longer, n)
					}
				})
			}
		}
	}
}

// One that has not returned by then is stuck, and gives its slot back. Its turn has its failure before; who waits behind it
// is told what is wrong, until it returns.
func TestAnAttemptIsStuckAfterAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := lateAt(t, time.Minute, limit.Options{Concurrency: 1, Fixed: true, Kept: -1, Retries: -1})
		defer a.close(t)
		ctx, cancel := context.WithCancel(t.Context())
		a.asks(ctx, "late", 1, 0)
		synctest.Wait()
		begun := time.Now()
		cancel()
		if n := a.have(); n["cancelled"] != 1 || time.Since(begun) != 0 {
			t.Errorf("%v after %s", n, time.Since(begun))
		}
		if l := a.runner.Gates(effect.KindModel)[0].Load(); l.Out != 1 {
			t.Errorf("its slot was given back: %+v", l)
		}
		a.asks(t.Context(), "behind", 1, 0)
		if n := a.have(); n["transient"] != 1 || n["cancelled"] != 1 || time.Since(begun) != outside.ToReturn {
			t.Errorf("%v after %s", n, time.Since(begun))
		}
		<-time.After(time.Minute)
		a.asks(t.Context(), "later", 1, 0)
		if n := a.have(); n["answer"] != 1 {
			t.Error(n)
		}
	})
}

// A request that may be repeated waits for its slot, or until its deliberation ends.
func TestALateAttemptEndsWithItsDeliberation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := lateAt(t, time.Second, limit.Options{Concurrency: 1, Fixed: true, Kept: -1, Retries: 1})
		defer a.close(t)
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		a.asks(ctx, "late", 1, 10*time.Second)
		<-time.After(10*time.Second + time.Millisecond)
		cancel()
		if n := a.have(); n["timeout"] != 1 || time.Since(begun) > 10*time.Second+time.Millisecond {
			t.Errorf("%v after %s", n, time.Since(begun))
		}
		<-time.After(time.Second)
		if l := a.runner.Gates(effect.KindModel)[0].Load(); l.Out != 0 {
			t.Errorf("%+v", l)
		}
	})
}
