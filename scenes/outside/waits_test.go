package outside_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/schedule/chain"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/llm/llmtest"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
)

// What the log knows of a turn has the wait for a place, and that between two attempts, apart from how long
// its calls took.
func TestWaitsOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
		f := &llmtest.Fake{Reply: func(_ context.Context, n int, _ *protocol.ModelRequest) (string, error) {
			<-time.After(2 * time.Second)
			if n == 2 {
				return "", &llm.Failure{Outcome: llm.OutcomeRateLimited, Message: "busy", RetryAfter: 10 * time.Second}
			}
			return "yes", nil
		}}
		r := table(t, outside.Entry{Kind: effect.KindModel, Executor: outside.Model(gated{f, gate.New("slow", limit.Options{Concurrency: 1, Fixed: true})}, nil)})
		r.Log = s.log
		for _, agent := range []string{"a", "b"} { // b waits for a, is refused, and pauses
			r.Go(t.Context(), outside.From{Scene: testScene, Agent: agent, Turn: 1}, &effect.Ask{Kind: effect.KindModel, Number: 1, Timeout: time.Minute}, func(x *effect.Answered) {
				if x.Err != nil {
					t.Error(agent, x.Err)
				}
			})
		}
		r.Wait()
		if got := s.log.Ended("a", 1, 1); got.Took != 2*time.Second || len(got.Waits) > 0 {
			t.Errorf("a: %+v", got)
		}
		got := s.log.Ended("b", 1, 1)
		if len(got.Waits) != 1 || got.Waits[0].Gate != "slow" || got.Took != 4*time.Second {
			t.Fatalf("b: %+v", got)
		}
		if d := got.Waits[0].For; d < 12*time.Second || d > 30*time.Second {
			t.Errorf("b waited for %s; want 2s for a, and the 10s that the endpoint asks for, and its jitter", d)
		}
		if len(got.Calls) != 1 || got.Calls[0].Gate != "slow" || got.Calls[0].Places != 1 {
			t.Errorf("b asked once, through a gate with one place: %+v", got.Calls)
		}
		if got := s.log.Ended("c", 1, 1); !slices.Equal(got.Waits, []chain.Wait(nil)) || got.Took != 0 {
			t.Errorf("c asked nobody: %+v", got)
		}
		s.close(t)
	})
}

// A call that leaves while the gate opens again says how many places the endpoint has, not how many calls may be out just then.
func TestPlacesWhileTheGateOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, persistencetest.NewCrashDisk(), outside.Options{})
		f := &llmtest.Fake{Reply: func(_ context.Context, n int, _ *protocol.ModelRequest) (string, error) {
			if n == 1 {
				return "", &llm.Failure{Outcome: llm.OutcomeRateLimited, Message: "busy", RetryAfter: 10 * time.Second}
			}
			return "yes", nil
		}}
		r := table(t, outside.Entry{Kind: effect.KindModel, Executor: outside.Model(gated{f, gate.New("cloud", limit.Options{Concurrency: 4, Fixed: true})}, nil)})
		r.Log = s.log
		r.Go(t.Context(), outside.From{Scene: testScene, Agent: "a", Turn: 1}, &effect.Ask{Kind: effect.KindModel, Number: 1, Timeout: time.Minute}, func(x *effect.Answered) {
			if x.Err != nil {
				t.Error(x.Err)
			}
		})
		r.Wait()
		if got := s.log.Ended("a", 1, 1); len(got.Calls) != 1 || got.Calls[0].Places != 4 {
			t.Errorf("the gate has four places: %+v", got.Calls)
		}
		s.close(t)
	})
}
