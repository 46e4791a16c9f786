package outside

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tavernsim/engine/agent"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// call is one request, from [Runner.Go] to its answer. While it waits it is a value in a
// gate. Each attempt has a goroutine, which keeps the request before the first, carries it
// out and keeps the answer. If the executor does not return in time, another goroutine
// takes over the rest.
type call struct {
	limit.Call
	runner  *Runner
	to      *executor
	gate    *gate.Gate
	from    From
	ask     agent.Ask
	ctx     context.Context // of the deliberation
	waiting time.Time       // since when it waits for its next attempt
	then    func(protocol.Raw)
	effect  *Effect // nil = nothing is kept
	flight  *Flight // in the log, from the first attempt on
	unwatch atomic.Pointer[func() bool]
}

// start answers the request, or lets it enter the gate. It returns soon.
func (c *call) start() {
	if c.to == nil {
		go c.end(nil, protocol.Errorf(protocol.KindUnknown, "nobody carries out requests of kind %q in this run", c.ask.Kind))
		return
	}
	if c.effect = c.logged(); c.effect != nil && c.runner.Log.Knows(c.effect) {
		go c.find()
		return
	}
	c.enter()
}

// find answers a request that the log knows.
func (c *call) find() {
	if raw, found, err := c.runner.Log.Find(c.ctx, c.effect); found {
		c.end(raw, err)
		return
	}
	c.enter()
}

// enter waits for the first attempt.
func (c *call) enter() {
	c.gate, c.Tokens = c.to.gateOf(&c.ask)
	c.Scene, c.Class, c.Owner = c.from.Scene, classOf(c.from.Class, &c.ask), c
	c.Draw = c.ask.Model.Draw.Sub(transportDraws)
	c.Once = !c.to.MayRepeat(&c.ask)
	c.runner.join(c)
	c.waiting = time.Now().Add(c.ask.Wait)
	if c.gate.Enter(&c.Call, c.ask.Wait, patience) {
		c.watch()
	}
}

const (
	// patience bounds the wait for an attempt: with a rate of 60 a minute the last of
	// 1,000 requests of a wave waits for 17 minutes.
	patience = time.Hour
	// transportDraws separates the chance of the pauses between attempts from what the
	// provider draws.
	transportDraws = 1 << 32
)

// watch lets the call leave its gate when the deliberation ends, until it is released,
// which may have happened already.
func (c *call) watch() {
	stop := context.AfterFunc(c.ctx, func() {
		if c.gate.Leave(&c.Call) {
			c.drop(protocol.Errorf(protocol.KindCancelled, "request: %w", context.Cause(c.ctx)))
		}
	})
	if !c.unwatch.CompareAndSwap(nil, &stop) {
		stop()
	}
}

// released ends what watch began, or will begin.
func (c *call) released() {
	nothing := func() bool { return false }
	if stop := c.unwatch.Swap(&nothing); stop != nil {
		(*stop)()
	}
}

// drop ends a call without an answer to keep.
func (c *call) drop(err error) {
	if c.flight != nil {
		c.flight.Fail(err)
	}
	c.end(nil, err)
}

// Refused implements gate.Caller. What was never sent is not kept.
func (c *call) Refused(err error) {
	x := agent.Answered{Err: err}
	c.runner.watch.Made(c.to.Name(), &c.ask, &x, 0)
	c.land(x)
}

// logged returns the entry of the request in the log; nil if nothing is kept.
func (c *call) logged() *Effect {
	if c.runner.Log == nil || c.to.instant != nil {
		return nil
	}
	return &Effect{
		Agent: c.from.Agent, Turn: c.from.Turn, Request: c.ask.Number, Kind: c.ask.Kind, To: c.to.Name(),
		Question: Hash(appendQuestion(nil, c.to.Name(), &c.ask)), MayRepeat: c.to.MayRepeat(&c.ask), At: c.from.At,
	}
}

// Released implements gate.Caller: it makes an attempt.
func (c *call) Released(class limit.Class) {
	c.released()
	c.runner.watch.Waited(c.ask.Kind, c.gate.Name(), class, max(0, time.Since(c.waiting)))
	if n := int(c.gate.Stuck.Load()); n >= c.gate.Most() {
		c.ended(&attempt{begun: time.Now()}, agent.Answered{Err: &llm.Failure{Outcome: llm.OutcomeUnavailable, Message: fmt.Sprintf(
			"%s %s: %d calls have not returned although their time is over; no more are made until one does", c.to.kind, c.to.Name(), n)}})
		return
	}
	if c.effect != nil && c.flight == nil {
		f, raw, err := c.runner.Log.Begin(c.ctx, c.effect)
		if c.flight = f; f == nil {
			c.gate.End(&c.Call, limit.End{Outcome: llm.OutcomeCancelled})
			c.end(raw, err)
			return
		}
	}
	c.carryOut()
}

// defaultTimeout bounds a request that sets no bound: an executor that never
// answers must not hold a deliberation for ever.
const defaultTimeout = 10 * time.Minute

func (c *call) timeout() time.Duration {
	if c.ask.Timeout > 0 {
		return c.ask.Timeout
	}
	return defaultTimeout
}

// attempt is one call of the executor. The executor, or the end of its time, lands it.
type attempt struct {
	begun  time.Time
	landed atomic.Bool
}

// carryOut calls the executor. It returns at the latest when the time is over or the
// deliberation ends, even if the executor ignores its context. Such an executor is
// stuck; there are at most as many stuck attempts as slots.
func (c *call) carryOut() {
	x := &attempt{begun: time.Now()}
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout())
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		if x.landed.CompareAndSwap(false, true) {
			c.gate.Stuck.Add(1)
			c.ended(x, agent.Answered{Err: llm.Stopped(ctx, c.to.Name())})
		}
	})
	answer := c.do(ctx)
	stop()
	if x.landed.CompareAndSwap(false, true) {
		c.ended(x, answer)
	} else {
		c.gate.Stuck.Add(-1)
	}
}

// do calls the executor and turns a panic into an error of the request.
func (c *call) do(ctx context.Context) (x agent.Answered) {
	defer func() {
		if p := recover(); p != nil {
			x = agent.Answered{Err: protocol.Errorf(protocol.KindInternal, "%s %s: panic: %v", c.to.kind, c.to.Name(), p)}
		}
	}()
	return c.to.Do(ctx, &c.ask)
}

// ended ends an attempt: the gate gives the call another one, or it lands.
func (c *call) ended(x *attempt, answer agent.Answered) {
	c.runner.watch.Made(c.to.Name(), &c.ask, &answer, time.Since(x.begun))
	if o := answer.Model.Origin; o != nil && c.gate != c.to.gate {
		o.Attempts = int64(c.Attempts())
	}
	c.waiting = time.Now()
	c.unwatch.Store(nil)
	if !c.gate.End(&c.Call, c.learnt(&answer)) {
		c.land(answer)
		return
	}
	c.runner.watch.Again(c.ask.Kind, c.gate.Name(), llm.OutcomeOf(answer.Err))
	c.watch()
}

// learnt is what the gate may conclude from an answer. Gates of executors that are no
// endpoint learn nothing, and repeat nothing.
func (c *call) learnt(x *agent.Answered) limit.End {
	switch {
	case c.ctx.Err() != nil:
		return limit.End{Outcome: llm.OutcomeCancelled}
	case c.gate == c.to.gate:
		return limit.End{Outcome: llm.OutcomeOK}
	}
	e := limit.End{Outcome: llm.OutcomeOf(x.Err), Tokens: x.Model.Usage.Input + x.Model.Usage.Output}
	if f, ok := errors.AsType[*llm.Failure](x.Err); ok {
		e.RetryAfter = f.RetryAfter
	}
	return e
}

// land keeps the answer and delivers it. A failure is an answer, too, but not if the
// deliberation has ended.
func (c *call) land(x agent.Answered) {
	if x.Model.Origin != nil {
		x.Model.Origin.Attempts = int64(c.Attempts())
	}
	raw := c.encode(x)
	var err error
	switch {
	case c.flight == nil:
	case x.Err != nil && c.ctx.Err() != nil:
		c.flight.Fail(x.Err)
	default:
		err = c.flight.Answer(c.ctx, raw)
	}
	c.end(raw, err)
}

// end delivers the answer; an error becomes the answer.
func (c *call) end(raw protocol.Raw, err error) {
	if err != nil {
		raw = c.encode(agent.Answered{Err: err})
	}
	c.then(raw)
	c.runner.done.Done()
}

// encode encodes an answer. An output that is not a value of package protocol fails the
// request.
func (c *call) encode(x agent.Answered) protocol.Raw {
	if err := normalize(&x); err != nil {
		x = agent.Answered{Err: err}
	}
	x.Kind, x.Number = c.ask.Kind, c.ask.Number
	return x.AppendMsg(nil)
}

func normalize(x *agent.Answered) (err error) {
	if x.Output, err = protocol.Normalize(x.Output); err != nil {
		return err
	}
	for i := range x.Model.Calls {
		p := &x.Model.Calls[i].Params
		v, err := protocol.Normalize(*p)
		if err != nil {
			return err
		}
		*p, _ = v.(map[string]any)
	}
	return nil
}
