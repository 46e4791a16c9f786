package outside

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// Executor carries out the requests of one kind.
type Executor interface {
	// Name is what it calls, as people know it: in errors, metrics and the log of effects.
	Name() string
	// Do carries a request out and returns soon after ctx ends. It is called on
	// many goroutines. A panic is the failure of that request. Whatever a failure
	// of the request is, it is Err of the answer.
	Do(ctx context.Context, q *effect.Ask) effect.Answered
	// MayRepeat reports whether the request may be made a second time if the result of
	// the first is unknown.
	MayRepeat(q *effect.Ask) bool
}

// Instant is an Executor that computes its answers without waiting, and gives the same
// answer to the same request. It is called inline and never recorded. The latency of
// its answers is simulated.
type Instant interface {
	Executor
	Answer(q *effect.Ask) effect.Answered
}

// Tools is an Executor of several tools. Each has a gate of its own, and the executor ends
// a call itself when its time is over: the runner takes the slot away a little later.
type Tools interface {
	Executor
	// Gate is what a request passes; nil = that of the entry.
	Gate(q *effect.Ask) *gate.Gate
}

// Entry is a kind of requests and its executor.
type Entry struct {
	Kind string
	Executor
	AtOnce int // most requests in flight, unless a provider brings the gates of its endpoints; 0 = 64
}

// Kinds are those of entries.
func Kinds(entries []Entry) (list []string) {
	for i := range entries {
		list = append(list, entries[i].Kind)
	}
	return list
}

// Runner carries requests out, by a table of executors.
type Runner struct {
	Log *Log // nil keeps nothing; set before the first request

	kinds   map[string]*executor
	watch   Watch
	done    sync.WaitGroup
	ahead   sync.WaitGroup // requests of shadows
	under   atomic.Int64   // requests under way
	people  atomic.Int64   // of them that wait for persons
	held    atomic.Bool    // no more leave
	waiting sync.Map       // of a gate: how many of them wait there, an *atomic.Int64
	shares  shares
	mu      sync.Mutex // guards every Urgency, and the gates of executors
}

// Watch is told what happens to requests. It is called on many goroutines.
type Watch struct {
	// Made: an attempt has ended, and how long it took; 0 = the gate refused the request, or [Runner.Now] answered it.
	Made func(to string, q *effect.Ask, x *effect.Answered, took time.Duration)
	// Waited: a request passed a gate, and how long it waited there before this attempt.
	Waited func(kind, gate string, class limit.Class, wait time.Duration)
	// Again: a request is sent again because an attempt ended so.
	Again func(kind, gate string, because llm.Outcome)
	// Elsewhere: a request to a model has failed so, and another model takes it over.
	Elsewhere func(model string, because llm.Outcome)
}

func (w *Watch) fill() {
	if w.Made == nil {
		w.Made = func(string, *effect.Ask, *effect.Answered, time.Duration) {}
	}
	if w.Waited == nil {
		w.Waited = func(string, string, limit.Class, time.Duration) {}
	}
	if w.Elsewhere == nil {
		w.Elsewhere = func(string, llm.Outcome) {}
	}
	if w.Again == nil {
		w.Again = func(string, string, llm.Outcome) {}
	}
}

// executor is an entry with its gate.
type executor struct {
	Executor
	kind    string
	instant Instant      // nil = it takes time
	sharing llm.Sharing  // nil = each request has its own answer
	tools   Tools        // nil = it is none of them
	gate    *gate.Gate   // of fixed width, for what has no gate of its own
	gates   []*gate.Gate // that requests may pass, or have passed
}

// New makes a runner.
func New(entries []Entry, w Watch) (*Runner, error) {
	w.fill()
	r := &Runner{kinds: map[string]*executor{}, watch: w}
	for _, e := range entries {
		if e.Kind == "" || e.Executor == nil || r.kinds[e.Kind] != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "executor of kind %q: want one executor for each kind, and a kind for each executor", e.Kind)
		}
		x := &executor{
			Executor: e.Executor, kind: e.Kind,
			gate: gate.New(e.Name(), limit.Options{Concurrency: max(e.AtOnce, 0), Fixed: true, Retries: -1, Kept: -1}),
		}
		x.instant, _ = e.Executor.(Instant)
		x.tools, _ = e.Executor.(Tools)
		x.sharing = sharing(e.Executor)
		if m, ok := e.Executor.(model); !ok || gate.Of(m.Provider) == nil {
			x.gates = append(x.gates, x.gate)
		}
		r.kinds[e.Kind] = x
	}
	return r, nil
}

// gateOf is the gate that a request passes, and an upper bound of its tokens.
func (x *executor) gateOf(q *effect.Ask) (g *gate.Gate, tokens int64) {
	if m, ok := x.Executor.(model); ok {
		g, tokens = m.gateOf(q)
	} else if x.tools != nil {
		g = x.tools.Gate(q)
	}
	return cmp.Or(g, x.gate), tokens
}

// Bound is the most that one attempt of a request to a model takes.
func (r *Runner) Bound(q *effect.Ask) llm.Bound {
	if m, ok := r.kinds[q.Kind].Executor.(interface{ bound(q *effect.Ask) llm.Bound }); ok {
		return m.bound(q)
	}
	return llm.Bound{}
}

// TakesTime reports whether some executor is not instant, so that a log is needed.
func (r *Runner) TakesTime() bool {
	for _, x := range r.kinds {
		if x.instant == nil {
			return true
		}
	}
	return false
}

// Now answers a request on the caller's goroutine, if its executor is instant and
// nothing has to pass in realtime; nil = it takes [Runner.Go]. The answer lies in
// the request. barred are endpoints whose budgets have no room for it.
func (r *Runner) Now(q *effect.Ask, realtime bool, barred ...string) *effect.Answered {
	to := r.kinds[q.Kind]
	if to == nil || realtime && q.Wait > 0 {
		return nil
	}
	var err error
	x := &q.Answer
	if to.instant != nil {
		*x = to.instant.Answer(q)
	} else if !to.now(q, x, realtime, barred) {
		return nil
	}
	if realtime && (x.Err != nil || x.Model.Latency > 0 || x.Latency > 0) {
		return nil
	}
	if x.Output, err = protocol.NormalizeBounded(x.Output); err != nil {
		x.Err = err
	}
	x.Kind, x.Number = q.Kind, q.Number
	r.watch.Made(to.Name(), q, x, 0)
	return x
}

// From is the origin of a request.
type From struct {
	Scene   string        // whose requests keep their order in a gate
	Agent   string        // instance id
	Turn    uint64        // from 1
	Of      string        // whose the request is, for people, if no turn makes it: a task is an agent of one turn here
	At      protocol.Time // of the scene's clock
	Class   limit.Class   // at least; see Urgency
	Rest    time.Duration // that the turn is expected to take, about; others wait for the longest
	Virtual bool          // latency is simulated: an instant model answers at once
	Urgency *Urgency
	Bound   *llm.Bound // of a request to an endpoint under a budget, and of a call of a tool: its price; nil = there is none
	Barred  []string   // endpoints whose budgets have no room for it
	Ahead   *Ahead     // nil = the turn itself asks
}

// Ahead is what a request of a shadow has beside others.
type Ahead struct {
	// Context ends when the shadow is dropped: what was not sent by then is not sent.
	Context context.Context
	// Became is told what became of the request, once; not of one that is neither taken nor wasted
	// when the log is closed. It must return at once.
	Became func(Fate)
}

// Fate is what became of a request of a shadow.
type Fate uint8

// The fates.
const (
	Pending   Fate = iota // the turn has neither made it nor ended
	NeverSent             // it was dropped before, or somebody had asked already
	Used                  // the turn itself made it, too
	Wasted                // the turn ended without it
)

// Urgency is how urgent the requests of one deliberation are: make one with
// [NewUrgency], give it with each of them, and [Runner.MakeUrgent] it when they become
// urgent. The lock of the runner guards it.
type Urgency struct {
	urgent bool
	calls  []*call
	room   [1]*call // of calls: most deliberations make one
}

// NewUrgency makes the urgency of a deliberation that begins.
func NewUrgency(urgent bool) *Urgency {
	h := &Urgency{urgent: urgent}
	h.calls = h.room[:0]
	return h
}

// join notes a call that enters its gate, and gives its class.
func (r *Runner) join(c *call) limit.Class {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := c.from.Urgency; h != nil {
		h.calls = append(h.calls, c)
		if h.urgent {
			c.Class = min(c.Class, limit.Urgent)
		}
	}
	if !slices.Contains(c.to.gates, c.gate) {
		c.to.gates = append(c.to.gates, c.gate)
	}
	return c.Class
}

// MakeUrgent makes the requests of a deliberation urgent, also those that wait.
func (r *Runner) MakeUrgent(h *Urgency) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.urgent = true
	for _, c := range h.calls {
		c.gate.Raise(&c.Call, limit.Urgent)
		if c.move(follows, finds) {
			go c.await(true)
		}
	}
}

// Urgent reports whether the requests of a deliberation are.
func (r *Runner) Urgent(h *Urgency) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return h.urgent
}

// MayAhead reports whether a shadow may make a request: it asks a model, and asking it again
// does no harm.
func (r *Runner) MayAhead(q *effect.Ask) bool {
	to := r.kinds[q.Kind]
	return q.Kind == effect.KindModel && to != nil && to.MayRepeat(q)
}

// Question is the hash of a request of a shadow, as the log of effects has it.
func (r *Runner) Question(q *effect.Ask) Question { return r.kinds[q.Kind].foretold(q, nil) }

// foretold is the hash of a request of a shadow: its question, and which models it may come to. The
// answer is the turn's own only if these are the same, too, and no budget bars one of them.
func (x *executor) foretold(q *effect.Ask, barred []string) Question {
	b := append(appendQuestion(make([]byte, 0, questionSize), x.Name(), q), "ahead"...)
	if m, ok := x.Executor.(model); ok {
		if router, ok := m.Provider.(llm.Router); ok {
			b = router.AppendChoice(b, &q.Model)
		}
	}
	return Hash(protocol.AppendStrings(b, barred))
}

// Go starts a request of a turn. then is called once, on a goroutine, with the answer, which
// is as the log would give it again ([effect.Answered.Settle]), and is the caller's. The request
// ends with ctx, which must end with the turn. q is the caller's again at once.
func (r *Runner) Go(ctx context.Context, from From, q *effect.Ask, then func(*effect.Answered)) {
	c := &call{runner: r, to: r.kinds[q.Kind], from: from, ask: *q, then: then, ctx: ctx}
	if c.to != nil {
		c.chosen, _ = c.to.route(&c.ask)
	}
	r.done.Add(1)
	r.under.Add(1)
	if from.Ahead != nil {
		r.ahead.Add(1)
	}
	c.start()
}

// Gates are those that requests of a kind pass. Scenes share the gates of endpoints.
func (r *Runner) Gates(kind string) []*gate.Gate {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to := r.kinds[kind]; to != nil {
		return slices.Clone(to.gates)
	}
	return nil
}

// Settle returns when the requests of shadows have ended that were sent, or the time is over. No
// shadow may make one meanwhile.
func (r *Runner) Settle(within time.Duration) {
	over := make(chan struct{})
	go func() {
		r.ahead.Wait()
		close(over)
	}()
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-over:
	case <-t.C:
	}
}

// Wait returns when every request has ended.
func (r *Runner) Wait() { r.done.Wait() }
