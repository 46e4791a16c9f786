package outside

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/internal/until"
	"tavernsim/llm"
	"tavernsim/llm/ledger"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// defaultTimeout bounds a request that sets no bound: an executor that never
// answers must not hold a deliberation for ever.
const defaultTimeout = 10 * time.Minute

func (c *call) timeout() time.Duration {
	limit := cmp.Or(max(c.ask.Timeout, 0), defaultTimeout)
	if c.to.tools != nil {
		limit += grace
	}
	return limit
}

// grace is how much longer than its time a call of an executor of tools may take.
const grace = 2 * time.Second

// stopped is the error of an attempt whose executor did not return in time.
func (c *call) stopped(x *attempt) error {
	if c.to.tools != nil && errors.Is(x.Err(), context.DeadlineExceeded) && !c.to.MayRepeat(&c.ask) {
		return protocol.Errorf(protocol.KindUnknownOutcome, "%s: no answer in time; it may have been carried out, and must not be repeated", c.ask.Call.Tool)
	}
	return llm.Stopped(x, c.to.Name())
}

// toReturn is how long an executor may take to return after its attempt's time is over. One that obeys its context needs
// milliseconds, also on a busy machine, to close a connection or end a process. Until then the attempt keeps its slot; after
// that it is stuck.
const toReturn = 2 * time.Second

// attempt is one call of the executor, and its context. It ends twice: the call goes on with its answer, and its slot is
// given back. Both are done when the executor returns. If its time is over before, the answer is a failure.
type attempt struct {
	until.Context
	over  until.Waiter  // for its end
	book  *ledger.Entry // nil = the endpoint has no budget a day
	begun time.Time

	answer effect.Answered // of the executor, when it has returned

	// The lock of the call guards the following fields.
	late     *effect.Answered // the failure; nil = its time was not over before the executor returned
	learnt   limit.End        // by the gate, if the call goes on before its slot is given back
	goneOn   bool             // the call has its answer
	returned bool
	stuck    bool
	timer    *time.Timer // for toReturn
}

// onNewStack makes an attempt on a goroutine of its own. It first makes the stack as large
// as it will be: while it is empty that costs nothing, later every frame is copied.
func (c *call) onNewStack() {
	grown(false)
	c.carryOut()
}

// grown has a frame of 5 KiB, about what an exchange over HTTP needs of a stack. Nobody fills it.
//
//go:noinline
func grown(fills bool) {
	if fills {
		runtime.KeepAlive(new([5 << 10]byte))
	}
}

// carryOut calls the executor. If its time is over or the deliberation ends, the rest goes on after toReturn at the latest,
// even if the executor ignores its context. Such an executor is stuck; there are at most as many stuck attempts as slots.
func (c *call) carryOut() {
	x := &attempt{}
	no := c.reserve(x)
	if x.begun = time.Now(); no != nil {
		c.ended(x, no)
		return
	}
	x.Begin(c.ctx, c.timeout(), context.DeadlineExceeded)
	x.over.After(x, func() { c.overdue(x) })
	c.mu.Lock()
	c.attempt = x
	c.mu.Unlock()
	c.look()
	c.do(x, &x.answer)
	x.over.Stop()
	x.End(nil)
	c.returned(x, &x.answer)
}

// overdue is called when the time of an attempt is over, or its deliberation.
func (c *call) overdue(x *attempt) {
	late := c.failed(c.stopped(x))
	c.mu.Lock()
	if x.returned {
		c.mu.Unlock()
		return
	}
	x.late = late
	x.timer = time.AfterFunc(toReturn, func() { c.isStuck(x) })
	c.mu.Unlock()
	c.goesOnLate(x)
}

// goesOnLate gives the call its failure before the slot is given back, unless the gate may repeat the request.
func (c *call) goesOnLate(x *attempt) {
	c.mu.Lock()
	if x.late == nil || x.goneOn {
		c.mu.Unlock()
		return
	}
	x.learnt = c.learnt(x.late)
	x.goneOn = !x.learnt.Outcome.AskAgain() || c.Once
	now := x.goneOn
	c.mu.Unlock()
	if now {
		c.account(x, x.late)
		c.goOn(x.late, false)
	}
}

// returned is called when the executor has returned.
func (c *call) returned(x *attempt, answer *effect.Answered) {
	c.mu.Lock()
	x.returned = true
	late, wasStuck := x.late, x.stuck
	c.mu.Unlock()
	switch {
	case late == nil:
		c.ended(x, answer)
	case wasStuck:
		c.gate.Stuck.Add(-1)
	default:
		x.timer.Stop()
		c.endedLate(x)
	}
}

// isStuck is called when the executor should have returned.
func (c *call) isStuck(x *attempt) {
	c.mu.Lock()
	if x.stuck = !x.returned; x.stuck {
		c.gate.Stuck.Add(1)
	}
	stuck := x.stuck
	c.mu.Unlock()
	if stuck {
		c.endedLate(x)
	}
}

// endedLate gives back the slot of an attempt whose time was over.
func (c *call) endedLate(x *attempt) {
	c.mu.Lock()
	was := x.goneOn
	x.goneOn = true
	c.mu.Unlock()
	if was {
		c.gate.End(&c.Call, x.learnt)
	} else {
		c.ended(x, x.late)
	}
}

// do calls the executor and turns a panic into an error of the request.
func (c *call) do(ctx context.Context, x *effect.Answered) {
	defer func() {
		if p := recover(); p != nil {
			*x = effect.Answered{Err: protocol.Errorf(protocol.KindInternal, "%s %s: panic: %v", c.to.kind, c.to.Name(), p)}
		}
	}()
	if c.ask.Kind == effect.KindModel { // the executor has a copy of its own
		c.ask.Model.Attempt = int64(c.Attempts())
	} else {
		ctx = context.WithValue(ctx, peopleKey{}, &c.runner.people)
	}
	*x = c.to.Do(ctx, &c.ask)
}

// ended ends an attempt: the gate gives the call another one, or it lands.
func (c *call) ended(x *attempt, answer *effect.Answered) {
	learnt := c.learnt(answer)
	c.account(x, answer)
	c.goOn(answer, c.gate.End(&c.Call, learnt))
}

// account notes what an attempt took, and shares its answer.
func (c *call) account(x *attempt, answer *effect.Answered) {
	c.runner.watch.Made(c.to.Name(), &c.ask, answer, time.Since(x.begun))
	if o := answer.Model.Origin; o != nil && c.gate != c.to.gate {
		o.Attempts = int64(c.Attempts())
	}
	c.noteLost(answer)
	c.settleBook(x, answer)
	c.share(answer)
	c.waiting = time.Now()
	c.mu.Lock()
	c.free = answer.Err != nil && c.ask.Kind == effect.KindModel && !mayHaveCost(answer)
	c.mu.Unlock()
	c.move(out, waits)
}

// goOn goes on after an attempt. again = the call waits for another one.
func (c *call) goOn(answer *effect.Answered, again bool) {
	switch {
	case answer.Err != nil && !mayHaveCost(answer) && c.retake(again):
		return
	case !again:
		c.land(answer)
		return
	}
	c.runner.watch.Again(c.ask.Kind, c.gate.Name(), llm.OutcomeOf(answer.Err))
	c.look()
}

// noteLost notes in a failure what the attempt may have cost, if it is under a budget.
func (c *call) noteLost(x *effect.Answered) {
	b := c.from.Bound
	if b == nil || x.Err == nil || c.ask.Kind != effect.KindModel || llm.Unsent(x.Err) {
		return
	}
	switch llm.OutcomeOf(x.Err) {
	case llm.OutcomeTimeout, llm.OutcomeServerError, llm.OutcomeTruncated, llm.OutcomeBadOutput, llm.OutcomeCancelled:
	default:
		if f, ok := errors.AsType[*llm.Failure](x.Err); !ok || !f.Begun {
			return // the endpoint refused it, or it was never sent
		}
	}
	if x.Model.Origin == nil {
		x.Model.Origin = cmp.Or(c.failed(x.Err).Model.Origin, &protocol.ModelOrigin{Endpoint: c.gate.Name(), Attempts: int64(c.Attempts())})
	}
	x.Model.Origin.Budget = &protocol.ModelBudget{Lost: b.Input + b.Output, LostNano: b.Cost}
}

// learnt is what the gate may conclude from an answer. Gates of executors that are no
// endpoint learn nothing, and repeat nothing.
func (c *call) learnt(x *effect.Answered) limit.End {
	switch {
	case c.ctx.Err() != nil:
		return limit.End{Outcome: llm.OutcomeCancelled}
	case c.gate == c.to.gate || c.ask.Kind != effect.KindModel:
		return limit.End{Outcome: llm.OutcomeOK}
	}
	e := limit.End{Outcome: llm.OutcomeOf(x.Err), Tokens: x.Model.Usage.Input + x.Model.Usage.Output}
	if f, ok := errors.AsType[*llm.Failure](x.Err); ok {
		e.RetryAfter, e.Said, e.Unsent = f.RetryAfter, f.Message, f.Unsent
	}
	return e
}
