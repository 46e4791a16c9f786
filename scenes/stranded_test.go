package scenes_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/llm/llmtest"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

// clouds are endpoints of the same model: bob asks one, the others another.
type clouds struct {
	*llmtest.Fake
	bob, others *gate.Gate
}

func (c clouds) Gate(q *protocol.ModelRequest) (*gate.Gate, int64) {
	if q.Agent == "bob" {
		return c.bob, 1
	}
	return c.others, 1
}

type nobody struct{}

func (nobody) Released(limit.Class) {}
func (nobody) Refused(error)        {}

// A scene that is interrupted while nothing is waited for but endpoints that are away gives the open wave up, also the
// last one, and goes on before it. So does one whose requests wait for a rate: it ran on for minutes. One whose endpoint is only slow waits, and no request that is out is cut off.
func TestInterruptedWhileAnEndpointIsAway(t *testing.T) {
	ends := strings.Replace(branching, "simulation: {stop: {ticks: 3}}", `simulation: {stop: {ticks: 3}}
scene_lifecycle_workflows: {on_scene_end: bye}
-- workflows/bye.yaml --
interfaceInputs: {now: {dataFlowType: STRING}}
interfaceOutputs: {response: {dataFlowType: STRING}}
nodes: [{id: in, type: GroupInput}, {id: m, type: LLMCompletion, inputValues: {prompt: goodbye}}, {id: out, type: GroupOutput}]
edges: [{source: m, sourceHandle: text, target: out, targetHandle: response}]`, 1)
	refused := func(d time.Duration) error {
		return &llm.Failure{Outcome: llm.OutcomeRateLimited, Message: "away", RetryAfter: d}
	}
	const oneSlot = -1
	for _, c := range []struct {
		name    string
		text    string
		answer  func(agent string) (wait time.Duration, err error)
		busy    bool                                // another run has a request at the endpoint of the others
		rate    int64                               // requests a minute of each endpoint; 0 = no limit, oneSlot = one, and one at once
		in      func(d time.Duration) (ok bool)     // it stops
		through func(deliberations int64) (ok bool) // before it stops
	}{
		{"away", branching, func(string) (time.Duration, error) {
			return 0, &llm.Failure{Outcome: llm.OutcomeServerError, Message: "refused"}
		}, false, 0, func(d time.Duration) bool { return d < 2*time.Minute }, func(n int64) bool { return n == 0 }},
		{"slow", branching, func(string) (time.Duration, error) { return 2 * time.Minute, nil }, false, 0,
			func(d time.Duration) bool { return d >= 4*time.Minute }, func(n int64) bool { return n > 0 }},
		{"away for one", branching, func(agent string) (time.Duration, error) {
			if agent == "bob" {
				return 0, refused(20 * time.Minute)
			}
			return 0, nil
		}, true, 0, func(d time.Duration) bool { return d < 2*time.Minute }, func(n int64) bool { return n <= 1 }},
		{"answers while it refuses", branching, func(agent string) (time.Duration, error) {
			if agent == "bob" {
				return 0, refused(10 * time.Minute)
			}
			return 90 * time.Second, nil
		}, false, 0, func(d time.Duration) bool { return d >= 90*time.Second && d < 10*time.Minute }, func(n int64) bool { return n <= 1 }},
		{"at a rate", branching, func(string) (time.Duration, error) { return 0, nil }, false, 1,
			func(d time.Duration) bool { return d < 75*time.Second }, func(n int64) bool { return n == 0 }},
		{"at a rate, with a request out at any time", branching, func(string) (time.Duration, error) { return 90 * time.Second, nil }, false, 1,
			func(d time.Duration) bool { return d >= 150*time.Second && d < 160*time.Second }, func(n int64) bool { return n == 0 }},
		{"at a rate, with the only slot taken", branching, func(string) (time.Duration, error) { return 55 * time.Second, nil }, false, oneSlot,
			func(d time.Duration) bool { return d < 150*time.Second }, func(n int64) bool { return n == 0 }},
		{"away at the end", ends, func(agent string) (time.Duration, error) {
			if agent != "ada" && agent != "bob" {
				return 0, refused(20 * time.Minute)
			}
			return 0, nil
		}, false, 0, func(d time.Duration) bool { return d < 2*time.Minute }, func(n int64) bool { return n > 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, set := scenestest.New(t, realtimeScene(t, c.text), ""), scenestest.Settings{Clock: agenda.Virtual}
			answer, cut, asked := c.answer, atomic.Int64{}, atomic.Int64{}
			limits := limit.Options{Requests: c.rate}
			if c.rate == oneSlot {
				limits = limit.Options{Requests: 1, Concurrency: 1, Fixed: true, Kept: -1}
			}
			model := func() clouds {
				return clouds{bob: gate.New("bob", limits), others: gate.New("others", limits), Fake: &llmtest.Fake{Reply: func(ctx context.Context, _ int, q *protocol.ModelRequest) (string, error) {
					asked.Add(1)
					wait, err := answer(q.Agent)
					select {
					case <-time.After(wait):
					case <-ctx.Done():
						cut.Add(1)
					}
					return "well", err
				}}}
			}
			synctest.Test(t, func(t *testing.T) {
				start, m := time.Now(), model()
				set.Model = m
				r, err := s.Start(set)
				if err != nil {
					t.Fatal(err)
				}
				if c.busy {
					other := &limit.Call{Owner: nobody{}, Scene: "another", Class: limit.Interactive}
					m.others.Enter(other, 0, time.Hour)
					defer m.others.End(other, limit.End{Outcome: llm.OutcomeOK})
				}
				<-time.After(time.Minute)
				r.Interrupt()
				res := r.Close()
				if res.Err != nil || res.Reason != agenda.StoppedByInterrupt || res.Final || s.Fold(t, set).Agenda.Ended != "" {
					t.Fatal(res)
				}
				if took := time.Since(start); !c.in(took) || !c.through(res.State.Tally.Deliberations) || cut.Load() > 0 {
					t.Fatalf("it stopped after %s, with %d deliberations, and cut %d requests off", took, res.State.Tally.Deliberations, cut.Load())
				}
				answer = func(string) (time.Duration, error) { return 0, nil }
				set.Model = model()
				if r, err = s.Start(set); err != nil {
					t.Fatal(err)
				}
				if res := r.Close(); res.Err != nil || !res.Final || res.State.Tally.Deliberations == 0 || c.rate != 0 && asked.Load() != 4*res.State.Tally.Deliberations {
					t.Fatal(res, res.State.Tally.Deliberations, asked.Load())
				}
			})
			mustVerify(t, s, scenestest.Settings{Clock: agenda.Virtual})
		})
	}
}

// clouds of which requests take something.
type dearClouds struct{ clouds }

// Bound implements llm.Bounder.
func (dearClouds) Bound(*protocol.ModelRequest) llm.Bound {
	return llm.Bound{Input: 50, Output: 50, Priced: true}
}

// Under a budget it is the same, also at a rate, and what the endpoint refused has cost nothing: the run that goes on asks as often, and its
// history is that of one that nobody interrupted.
func TestInterruptedUnderABudgetWhileAnEndpointIsAway(t *testing.T) {
	s, set := scenestest.New(t, realtimeScene(t, "budget: {calls: 1000}\n"+branching), ""), scenestest.Settings{Clock: agenda.Virtual}
	play := func(t *testing.T, s *scenestest.Scene, away bool, rate int64) (res scenestest.Result) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			set.Model = dearClouds{clouds{bob: gate.New("bob", limit.Options{Requests: rate}), others: gate.New("others", limit.Options{Requests: rate}), Fake: &llmtest.Fake{Reply: func(context.Context, int, *protocol.ModelRequest) (string, error) {
				if away {
					return "", &llm.Failure{Outcome: llm.OutcomeRateLimited, Message: "away", RetryAfter: 20 * time.Minute}
				}
				return "well", nil
			}}}}
			r, err := s.Start(set)
			if err != nil {
				t.Fatal(err)
			}
			if away || rate > 0 {
				<-time.After(time.Minute)
				r.Interrupt()
			}
			if res = r.Close(); res.Err != nil || res.Final == (away || rate > 0) || time.Since(start) > 2*time.Minute {
				t.Fatal(res, time.Since(start))
			}
		})
		return res
	}
	play(t, s, true, 0)
	play(t, s, false, 1)
	play(t, s, true, 0)
	got, want := play(t, s, false, 0), play(t, scenestest.New(t, s.Project, ""), false, 0)
	if got.Digest() != want.Digest() {
		t.Errorf("digest %s, of a run that nobody interrupted %s", got.Digest(), want.Digest())
	}
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Virtual})
}
