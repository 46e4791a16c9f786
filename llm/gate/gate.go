package gate

import (
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/ledger"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// Gate is that of one endpoint and key, for all scenes of the process.
type Gate struct {
	// Stuck counts attempts that have not returned although their time has been over for a while. Who makes
	// attempts counts them here and makes no more than Most.
	Stuck atomic.Int32
	// Book is the ledger of the endpoint's budget a day, in which each attempt reserves; nil =
	// it has none. It is set before the gate is used.
	Book *ledger.Book

	name string
	most int
	born time.Time

	mu      sync.Mutex
	machine *limit.Machine
	timer   *time.Timer
	at      time.Duration // when the timer fires; 0 = it does not
}

// Caller owns a call.
type Caller interface {
	// Released begins an attempt, by the class that the call has now. [Gate.End] must
	// follow, but from another goroutine: Released is called by whoever made room, for
	// every call that leaves, and must return at once.
	Released(class limit.Class)
	// Refused ends a call that waited, on a goroutine of its own. The error is an
	// *llm.Failure.
	Refused(err error)
}

// Gated is a provider whose requests pass the gates of its endpoints. The caller
// passes the gate, and sends a request again if the gate says so; the provider makes
// one attempt each time it is called.
type Gated interface {
	llm.Provider
	// Gate is the gate of the endpoint that gets the request, and an upper bound of
	// its tokens, those of the answer included. nil = it passes none.
	Gate(req *protocol.ModelRequest) (g *Gate, tokens int64)
}

// Of finds the provider with gates behind wrappers that show what they wrap
// (Unwrap() Provider); nil = there is none.
func Of(p llm.Provider) Gated {
	for {
		if g, ok := p.(Gated); ok {
			return g
		}
		w, ok := p.(interface{ Unwrap() llm.Provider })
		if !ok {
			return nil
		}
		p = w.Unwrap()
	}
}

// New makes the gate of an endpoint. name is the endpoint's, for metrics and errors.
func New(name string, o limit.Options) *Gate {
	return &Gate{name: name, most: o.WithDefaults().Concurrency, born: time.Now(), machine: limit.New(name, o)}
}

// Name is the endpoint's.
func (g *Gate) Name() string { return g.name }

// Most is how many calls may be out at best.
func (g *Gate) Most() int { return g.most }

// Enter takes a new call, whose owner is a [Caller]. It leaves after pause and waits at
// most for patience; both are counted from now. waits = it has not left yet.
func (g *Gate) Enter(c *limit.Call, pause, patience time.Duration) (waits bool) {
	g.do(func(now time.Duration) {
		c.Start, c.Deadline = now+pause, now+patience
		g.machine.Arrive(now, c)
		waits = c.Waits()
	})
	return waits
}

// Leave takes back a call that waits; false = it is out, or has ended.
func (g *Gate) Leave(c *limit.Call) (waited bool) {
	g.do(func(now time.Duration) { waited = g.machine.Leave(now, c) })
	return waited
}

// End ends an attempt. again = the call waits for the next one, otherwise it has ended.
func (g *Gate) End(c *limit.Call, e limit.End) (again bool) {
	g.do(func(now time.Duration) { again = g.machine.End(now, c, e) })
	return again
}

// Raise gives a call a higher class, wherever it is.
func (g *Gate) Raise(c *limit.Call, class limit.Class) {
	g.do(func(now time.Duration) { g.machine.Raise(now, c, class) })
}

// Hint takes what the endpoint said about its limits with the answer to a request that
// was sent at a time. The provider calls it as soon as it has read the headers.
func (g *Gate) Hint(sent time.Time, h limit.Hints) {
	g.do(func(now time.Duration) { g.machine.Hint(now, sent.Sub(g.born), h) })
}

// Reopen lets requests through again after the endpoint was closed, because its
// configuration was loaded again.
func (g *Gate) Reopen() { g.do(g.machine.Reopen) }

// Places is how many calls the endpoint is thought to take at once, also while it is shut or opens again. It costs the
// same however many wait.
func (g *Gate) Places() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.machine.Width()
}

// Load summarises the gate. It looks at each call that waits.
func (g *Gate) Load() limit.Load {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.machine.Load()
}

// Stalled says why no call leaves now, how many wait, and for how long at least.
func (g *Gate) Stalled() (s limit.Stall, waiting int, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Since(g.born)
	s = g.machine.Stalled(now)
	for _, n := range g.machine.Load().Waiting {
		waiting += n
	}
	return s, waiting, max(s.Until-now, 0)
}

// Rates are the requests and tokens that may leave in a minute; 0 = no limit.
func (g *Gate) Rates() (requests, tokens int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.machine.Rates()
}

// do gives the machine an input and carries out its outputs, without the lock.
func (g *Gate) do(input func(now time.Duration)) {
	first, more := g.decide(input)
	first.leave()
	for _, x := range more {
		x.leave()
	}
}

// leaving is a call that leaves the gate.
type leaving struct {
	to      Caller // nil = none does
	class   limit.Class
	refused error
}

func (x leaving) leave() {
	switch {
	case x.to == nil:
	case x.refused != nil:
		go x.to.Refused(x.refused)
	default:
		x.to.Released(x.class)
	}
}

// decide gives the machine an input. Most of them let at most one call leave.
func (g *Gate) decide(input func(now time.Duration)) (first leaving, more []leaving) {
	g.mu.Lock()
	defer g.mu.Unlock()
	input(time.Since(g.born))
	for i, x := range g.machine.Take() {
		l := leaving{x.Owner.(Caller), x.Class, x.Refused}
		if i == 0 {
			first = l
		} else {
			more = append(more, l)
		}
	}
	g.setTimer()
	return first, more
}

func (g *Gate) setTimer() {
	next, ok := g.machine.Next()
	switch {
	case !ok && g.at > 0:
		g.timer.Stop()
		g.at = 0
		return
	case !ok || g.at > 0 && g.at <= next: // it may fire early
		return
	case g.timer == nil:
		g.timer = time.AfterFunc(next-time.Since(g.born), func() { g.do(g.fired) })
	default:
		g.timer.Reset(next - time.Since(g.born))
	}
	g.at = next
}

func (g *Gate) fired(now time.Duration) {
	g.at = 0
	g.machine.Wake(now)
}
