package outside_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/llm/llmtest"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
)

// endpoint is a server of models as a provider with a gate. It admits so many requests
// a minute, like a bucket that is full at the beginning, and fails by chance: 20 %
// rate_limited with Retry-After, 5 % no answer at all, 5 % an answer that is none.
type endpoint struct {
	gate      *gate.Gate
	perMinute float64
	faults    bool

	mu       sync.Mutex
	level    float64
	at       time.Time
	attempts map[string]int // of a request
	sent     []time.Time
	admitted int
	limited  int // above the rate
}

func newEndpoint(perMinute float64, faults bool, o limit.Options) *endpoint {
	return &endpoint{gate: gate.New("cloud", o), perMinute: perMinute, faults: faults, level: perMinute, at: time.Now(), attempts: map[string]int{}}
}

// Name implements llm.Provider.
func (*endpoint) Name() string { return "endpoint" }

// Close implements llm.Provider.
func (*endpoint) Close() error { return nil }

// Gate implements gate.Gated.
func (e *endpoint) Gate(*protocol.ModelRequest) (*gate.Gate, int64) { return e.gate, 100 }

// Complete implements llm.Provider.
func (e *endpoint) Complete(ctx context.Context, req *protocol.ModelRequest, _ llm.Sink) (protocol.ModelAnswer, error) {
	d, retry := e.take(req)
	if retry > 0 {
		return protocol.ModelAnswer{}, &llm.Failure{Outcome: llm.OutcomeRateLimited, Message: "above the rate", RetryAfter: retry}
	}
	x := d.Float64()
	if !e.faults {
		x = 1
	}
	took := time.Duration(float64(800*time.Millisecond) * math.Exp(0.4*normal(&d)))
	switch {
	case x < 0.2:
		return protocol.ModelAnswer{}, &llm.Failure{Outcome: llm.OutcomeRateLimited, Message: "by chance", RetryAfter: time.Second}
	case x < 0.25:
		took = time.Hour
	}
	select {
	case <-time.After(took):
	case <-ctx.Done():
		return protocol.ModelAnswer{}, llm.Stopped(ctx, "endpoint")
	}
	if x < 0.3 {
		return protocol.ModelAnswer{}, &llm.Failure{Outcome: llm.OutcomeBadOutput, Message: "no JSON"}
	}
	return protocol.ModelAnswer{Text: "yes", Usage: protocol.Usage{Input: 60, Output: 20}}, nil
}

// take counts a request and gives its chance, or how long it has to wait.
func (e *endpoint) take(req *protocol.ModelRequest) (protocol.Draw, time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.level, e.at = min(e.perMinute, e.level+now.Sub(e.at).Minutes()*e.perMinute), now
	e.sent = append(e.sent, now)
	if e.level < 1 {
		e.limited++
		return protocol.Draw{}, max(time.Second, time.Duration((1-e.level)/e.perMinute*float64(time.Minute)))
	}
	e.level--
	e.admitted++
	key := fmt.Sprint(req.Draw)
	e.attempts[key]++
	return req.Draw.Sub(uint64(e.attempts[key])), 0
}

// normal draws from the normal distribution, nearly.
func normal(d *protocol.Draw) (x float64) {
	for range 12 {
		x += d.Float64()
	}
	return x - 6
}

// crowd is a number of agents that ask again and again.
type crowd struct {
	runner *outside.Runner
	from   outside.From
	agents int
	rest   time.Duration // between two turns
	good   atomic.Int64
	lost   atomic.Int64
}

// live lets the agents ask until end. An agent that gets no answer asks again, as a
// workflow with retry does; without one after six requests its turn is lost.
func (c *crowd) live(ctx context.Context, wg *sync.WaitGroup, end time.Time) {
	for a := range c.agents {
		wg.Go(func() {
			for turn := uint64(1); time.Now().Before(end); turn++ {
				var x *effect.Answered
				for n := 1; n == 1 || n <= 6 && x.Err != nil; n++ {
					x = ask(ctx, c.runner, c.from, protocol.NewDraw(1, uint64(a), turn, uint64(n)))
				}
				switch {
				case x.Err != nil:
					c.lost.Add(1)
				case time.Now().Before(end):
					c.good.Add(1)
				}
				<-time.After(c.rest)
			}
		})
	}
}

func ask(ctx context.Context, r *outside.Runner, from outside.From, d protocol.Draw) *effect.Answered {
	got := make(chan *effect.Answered, 1)
	q := &effect.Ask{Kind: effect.KindModel, Number: 1, Timeout: 5 * time.Second, Model: protocol.ModelRequest{Draw: d}}
	r.Go(ctx, from, q, func(x *effect.Answered) { got <- x })
	return <-got
}

// An endpoint of 600 requests a minute fails every third time: no turn is lost, the
// answers are 90 % of what the rate allows at these faults, the endpoint never has to
// refuse a request for its rate, and no moment sees many requests.
func TestBadEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perMinute, minutes = 600, 10
		e := newEndpoint(perMinute, true, limit.Options{Requests: perMinute})
		c := crowd{runner: table(t, outside.Entry{Kind: effect.KindModel, Executor: outside.Model(e, nil)}), agents: 200}
		var wg sync.WaitGroup
		c.live(t.Context(), &wg, time.Now().Add(minutes*time.Minute))
		wg.Wait()
		if allowed := perMinute * minutes * 0.7; float64(c.good.Load()) < 0.9*allowed || c.lost.Load() > 0 {
			t.Errorf("%d answers of %.0f, %d turns lost", c.good.Load(), allowed, c.lost.Load())
		}
		if e.limited > 0 {
			t.Errorf("%d requests above the rate", e.limited)
		}
		moments, most := map[time.Time]int{}, 0
		for _, at := range e.sent {
			at = at.Truncate(10 * time.Millisecond)
			moments[at]++
			most = max(most, moments[at])
		}
		if most > 16 {
			t.Errorf("%d requests came together", most)
		}
	})
}

// A scene of three people beside 1,000 background agents of another scene, on 64 slots
// that they share: a request of a person waits at most 10 ms (p99), and the agents lose
// at most 5 % of what they have alone on all slots.
func TestInteractiveBesideBackground(t *testing.T) {
	const length = 2 * time.Minute
	run := func(t *testing.T, o limit.Options, people int) (background int64, waits []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			o.Concurrency, o.Fixed = 64, true
			e := newEndpoint(1e9, false, o)
			var mu sync.Mutex
			scene := func(from outside.From, agents int, rest time.Duration) *crowd {
				r, err := outside.New([]outside.Entry{{Kind: effect.KindModel, Executor: outside.Model(e, nil)}}, outside.Watch{
					Waited: func(_, _ string, class limit.Class, d time.Duration) {
						mu.Lock()
						defer mu.Unlock()
						if class == limit.Interactive {
							waits = append(waits, d)
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				return &crowd{runner: r, from: from, agents: agents, rest: rest}
			}
			crowds := []*crowd{
				scene(outside.From{Scene: "village", Class: limit.Background}, 1000, 0),
				scene(outside.From{Scene: "parlour", Class: limit.Interactive}, people, 200*time.Millisecond),
			}
			var wg sync.WaitGroup
			for _, c := range crowds {
				c.live(t.Context(), &wg, time.Now().Add(length))
			}
			wg.Wait()
			background = crowds[0].good.Load()
		})
		return background, waits
	}
	alone, _ := run(t, limit.Options{Kept: -1}, 0)
	beside, waits := run(t, limit.Options{}, 3)
	slices.Sort(waits)
	if p99 := waits[len(waits)*99/100]; p99 > 10*time.Millisecond || len(waits) < 300 {
		t.Errorf("%d requests of people waited for %s (p99)", len(waits), p99)
	}
	if loss := 1 - float64(beside)/float64(alone); loss > 0.05 {
		t.Errorf("the background agents lose %.1f %%: %d answers, %d alone", 100*loss, beside, alone)
	}
}

// The class of requests: those of an urgent deliberation overtake, also those that wait
// when it becomes urgent.
func TestUrgentRequestsOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []int
		r := table(t, outside.Entry{Kind: "slow", AtOnce: 1, Executor: does(func(_ context.Context, q *effect.Ask) effect.Answered {
			order = append(order, q.Number)
			<-time.After(time.Second)
			return effect.Answered{}
		})})
		late := outside.NewUrgency(false)
		for n, h := range []*outside.Urgency{nil, outside.NewUrgency(false), late, outside.NewUrgency(true), nil} {
			r.Go(t.Context(), outside.From{Turn: 1, Urgency: h}, &effect.Ask{Kind: "slow", Number: n}, func(*effect.Answered) {})
		}
		r.MakeUrgent(late)
		if !r.Urgent(late) {
			t.Error("it became urgent")
		}
		r.Wait()
		if want := []int{0, 3, 2, 1, 4}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

// A reflection can wait: its request is of the background, unless its deliberation is
// urgent.
func TestReflectionsAreBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got limit.Class
		r, err := outside.New([]outside.Entry{{Kind: effect.KindModel, Executor: outside.Model(gated{&llmtest.Fake{}, gate.New("cloud", limit.Options{})}, nil)}}, outside.Watch{
			Waited: func(_, _ string, class limit.Class, _ time.Duration) { got = class },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			purpose protocol.Purpose
			from    outside.From
			want    limit.Class
		}{
			{protocol.PurposeDeliberate, outside.From{}, limit.Normal},
			{protocol.PurposeSkill, outside.From{Class: limit.Interactive}, limit.Interactive},
			{protocol.PurposeReflect, outside.From{}, limit.Background},
			{protocol.PurposeReflect, outside.From{Class: limit.Interactive}, limit.Background},
			{protocol.PurposeReflect, outside.From{Urgency: outside.NewUrgency(true)}, limit.Urgent},
			{protocol.PurposeDeliberate, outside.From{Urgency: outside.NewUrgency(true)}, limit.Urgent},
		} {
			r.Go(t.Context(), c.from, &effect.Ask{Kind: effect.KindModel, Number: 1, Model: protocol.ModelRequest{Purpose: c.purpose}}, func(*effect.Answered) {})
			r.Wait()
			if got != c.want {
				t.Errorf("%s of %v is %s, want %s", c.purpose, c.from.Class, got, c.want)
			}
		}
	})
}

// A request that must not be made twice is sent again only if the endpoint refused it, or it did
// not leave.
func TestOnlyRefusedRequestsAreSentAgain(t *testing.T) {
	for fails, want := range map[llm.Failure]int{
		{Outcome: llm.OutcomeRateLimited}: 5, {Outcome: llm.OutcomeTimeout}: 1, {Outcome: llm.OutcomeServerError}: 1, {Outcome: llm.OutcomeAuth}: 1,
		{Outcome: llm.OutcomeServerError, Unsent: true}: 5, {Outcome: llm.OutcomeTimeout, Unsent: true}: 5,
	} {
		synctest.Test(t, func(t *testing.T) {
			outcome := fails.Outcome
			f := &llmtest.Fake{Once: true, Reply: func(context.Context, int, *protocol.ModelRequest) (string, error) {
				return "", &llm.Failure{Outcome: outcome, Message: "no", Unsent: fails.Unsent}
			}}
			g := gated{f, gate.New("cloud", limit.Options{})}
			var again atomic.Int64
			r, err := outside.New([]outside.Entry{{Kind: effect.KindModel, Executor: outside.Model(g, nil)}}, outside.Watch{
				Again: func(_, gate string, because llm.Outcome) {
					if again.Add(1); gate != "cloud" || because != outcome {
						t.Error(gate, because)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			x := ask(t.Context(), r, outside.From{Bound: &llm.Bound{Input: 7, Output: 2}}, protocol.NewDraw(1))
			lost := int64(0)
			if b := x.Model.Origin.Budget; b != nil {
				lost = b.Lost
			}
			if charged := !fails.Unsent && (outcome == llm.OutcomeTimeout || outcome == llm.OutcomeServerError); charged != (lost == 9) {
				t.Errorf("%+v: %d tokens are lost", fails, lost)
			}
			if protocol.KindOf(x.Err) != outcome.Kind() || f.Calls() != want || again.Load() != int64(want-1) {
				t.Errorf("%s: %d attempts, %d again, %v", outcome, f.Calls(), again.Load(), x.Err)
			}
		})
	}
}

// gated is a provider with a gate.
type gated struct {
	llm.Repeater
	g *gate.Gate
}

// Complete implements llm.Provider.
func (g gated) Complete(ctx context.Context, q *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	a, err := g.Repeater.Complete(ctx, q, sink)
	a.Origin = &protocol.ModelOrigin{Endpoint: "cloud", Attempts: 1}
	return a, err
}

// Gate implements gate.Gated.
func (g gated) Gate(*protocol.ModelRequest) (*gate.Gate, int64) { return g.g, 10 }

// The log keeps a request once, however often it is sent; a deliberation that ends while
// its request waits to be sent again leaves no answer there.
func TestRepeatedRequestsInTheLog(t *testing.T) {
	s := open(t, persistencetest.MemDisk(), outside.Options{})
	defer s.close(t)
	fail := make(chan error, 1) // of the next attempt
	failed := make(chan struct{}, 1)
	f := &llmtest.Fake{Reply: func(context.Context, int, *protocol.ModelRequest) (string, error) {
		select {
		case err := <-fail:
			failed <- struct{}{}
			return "", err
		default:
			return "yes", nil
		}
	}}
	r := table(t, outside.Entry{Kind: effect.KindModel, Executor: outside.Model(gated{f, gate.New("cloud", limit.Options{})}, nil)})
	r.Log = s.log
	try := func(ctx context.Context, turn uint64) *effect.Answered {
		return ask(ctx, r, outside.From{Agent: "a", Turn: turn}, protocol.NewDraw(turn))
	}
	again := &llm.Failure{Outcome: llm.OutcomeServerError, Message: "no"}
	fail <- again
	for range 2 {
		if x := try(t.Context(), 1); x.Err != nil || x.Model.Text != "yes" || x.Model.Origin == nil || x.Model.Origin.Attempts != 2 {
			t.Errorf("%+v", x)
		}
	}
	if f.Calls() != 2 || s.count("requested") != 1 || s.count("answered") != 1 || s.count("reused") != 1 {
		t.Errorf("%d calls, %d requested, %d answered, %d reused; want 2, 1, 1, 1", f.Calls(), s.count("requested"), s.count("answered"), s.count("reused"))
	}
	<-failed
	ctx, cancel := context.WithCancel(t.Context())
	fail <- &llm.Failure{Outcome: llm.OutcomeRateLimited, Message: "no", RetryAfter: time.Hour / 2}
	go func() { <-failed; cancel() }()
	if x := try(ctx, 2); protocol.KindOf(x.Err) != protocol.KindCancelled {
		t.Errorf("%+v", x)
	}
	r.Wait()
	if s.count("requested") != 2 || s.count("answered") != 1 {
		t.Errorf("%d requested, %d answered; want 2, 1", s.count("requested"), s.count("answered"))
	}
}
