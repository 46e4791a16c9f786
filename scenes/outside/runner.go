package outside

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/engine/agent"
	"tavernsim/protocol"
)

// Executor carries out the requests of one kind.
type Executor interface {
	// Name is what it calls, as people know it: in errors, metrics and the log of effects.
	Name() string
	// Do carries a request out and returns soon after ctx ends. It is called on
	// many goroutines. A panic is the failure of that request. Whatever a failure
	// of the request is, it is Err of the answer.
	Do(ctx context.Context, q *agent.Ask) agent.Answered
	// MayRepeat reports whether the request may be made a second time if the result of
	// the first is unknown.
	MayRepeat(q *agent.Ask) bool
}

// Instant is an Executor that computes its answers without waiting, and gives the same
// answer to the same request. It is called inline and never recorded. The latency of
// its answers is simulated.
type Instant interface {
	Executor
	Answer(q *agent.Ask) agent.Answered
}

// Entry is a kind of requests and its executor.
type Entry struct {
	Kind string
	Executor
	AtOnce int // most requests in flight; 0 = 64
}

const defaultAtOnce = 64

// Runner carries requests out, by a table of executors.
type Runner struct {
	Log *Log // nil keeps nothing; set before the first request

	kinds map[string]*executor
	made  Counter
	done  sync.WaitGroup
	mu    sync.Mutex // of all slots and every Urgency
}

// Counter is called for every request that was carried out.
type Counter func(to string, q *agent.Ask, x *agent.Answered, took time.Duration)

// executor is an entry with its slots.
type executor struct {
	Executor
	kind    string
	instant Instant // nil = it takes time
	slots   *slots
	stuck   atomic.Int32 // calls whose time is over and that have not returned
}

// New makes a runner; made may be nil.
func New(entries []Entry, made Counter) (*Runner, error) {
	r := &Runner{kinds: map[string]*executor{}, made: made}
	if made == nil {
		r.made = func(string, *agent.Ask, *agent.Answered, time.Duration) {}
	}
	for _, e := range entries {
		if e.Kind == "" || e.Executor == nil || r.kinds[e.Kind] != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "executor of kind %q: want one executor for each kind, and a kind for each executor", e.Kind)
		}
		if e.AtOnce <= 0 {
			e.AtOnce = defaultAtOnce
		}
		x := &executor{Executor: e.Executor, kind: e.Kind, slots: newSlots(&r.mu, e.AtOnce)}
		x.instant, _ = e.Executor.(Instant)
		r.kinds[e.Kind] = x
	}
	return r, nil
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
// the request.
func (r *Runner) Now(q *agent.Ask, realtime bool) *agent.Answered {
	to := r.kinds[q.Kind]
	if to == nil || to.instant == nil || realtime && q.Wait > 0 {
		return nil
	}
	begun := time.Now()
	var err error
	x := &q.Answer
	*x = to.instant.Answer(q)
	if realtime && (x.Err != nil || x.Model.Latency > 0 || x.Latency > 0) {
		return nil
	}
	if x.Output, err = protocol.Normalize(x.Output); err != nil {
		x.Err = err
	}
	x.Kind, x.Number = q.Kind, q.Number
	r.made(to.Name(), q, x, time.Since(begun))
	return x
}

// From is the origin of a request.
type From struct {
	Agent   string        // instance id
	Turn    uint64        // from 1
	At      protocol.Time // of the scene's clock
	Urgency *Urgency
}

// Go starts a request of a turn. then is called once, on a goroutine, with the
// encoded answer ([agent.ReadAnswered]): the bytes that the log keeps. The request
// ends with ctx. q is the caller's again at once.
func (r *Runner) Go(ctx context.Context, from From, q *agent.Ask, then func(protocol.Raw)) {
	c := &call{runner: r, to: r.kinds[q.Kind], from: from, ask: *q, then: then, begun: time.Now()}
	r.done.Add(1)
	go c.run(ctx)
}

// Load counts the requests of a kind in flight, and those that wait for a slot.
func (r *Runner) Load(kind string) (out, queued int) {
	if to := r.kinds[kind]; to != nil {
		return to.slots.load()
	}
	return 0, 0
}

// Wait returns when every request has ended.
func (r *Runner) Wait() { r.done.Wait() }
