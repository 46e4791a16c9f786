package outside

import (
	"context"
	"sync/atomic"
	"time"

	"tavernsim/engine/agent"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// call is one request in flight. Its goroutine waits for a slot, keeps the request,
// carries it out and keeps the answer. If the executor does not return in time, another
// goroutine takes over the rest.
type call struct {
	runner *Runner
	to     *executor
	from   From
	ask    agent.Ask
	begun  time.Time
	then   func(protocol.Raw)
	flight *Flight // in the log; nil = nothing is kept
	landed atomic.Bool
}

func (c *call) run(ctx context.Context) {
	if c.to == nil {
		c.end(nil, protocol.Errorf(protocol.KindUnknown, "nobody carries out requests of kind %q in this run", c.ask.Kind))
		return
	}
	log, e := c.log()
	if raw, found, err := log.Find(ctx, e); found {
		c.end(raw, err)
		return
	}
	if err := c.slot(ctx); err != nil {
		c.end(nil, err)
		return
	}
	if log != nil {
		f, raw, err := log.Begin(ctx, e)
		if c.flight = f; f == nil {
			c.to.slots.give()
			c.end(raw, err)
			return
		}
	}
	c.carryOut(ctx)
}

// log returns the log for the request and its entry; nil if the executor is instant.
func (c *call) log() (*Log, *Effect) {
	if c.runner.Log == nil || c.to.instant != nil {
		return nil, nil
	}
	return c.runner.Log, &Effect{
		Agent: c.from.Agent, Turn: c.from.Turn, Request: c.ask.Number, Kind: c.ask.Kind, To: c.to.Name(),
		Question: Hash(appendQuestion(nil, c.to.Name(), &c.ask)), MayRepeat: c.to.MayRepeat(&c.ask), At: c.from.At,
	}
}

// slot returns when the request's wait is over and a slot is free.
func (c *call) slot(ctx context.Context) error {
	if err := wait(ctx, c.ask.Wait); err != nil {
		return err
	}
	s := c.to.slots
	if p := s.enter(c.from.Urgency); p != nil {
		waiting, stop := context.WithTimeout(ctx, c.timeout())
		defer stop()
		if !p.take(waiting, c.from.Urgency) {
			return llm.Stopped(waiting, c.to.Name())
		}
	}
	if n := int(c.to.stuck.Load()); n >= s.size {
		s.give()
		return protocol.Errorf(protocol.KindTransient, "%s %s: %d calls have not returned although their time is over; no more are made until one does", c.to.kind, c.to.Name(), n)
	}
	return nil
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

// carryOut calls the executor. It returns at the latest when the time is over or the
// deliberation ends, even if the executor ignores its context. Such an executor is
// stuck; there are at most as many stuck calls as slots.
func (c *call) carryOut(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	stop := context.AfterFunc(limited, func() {
		if c.landed.CompareAndSwap(false, true) {
			c.to.stuck.Add(1)
			c.land(ctx, agent.Answered{Err: llm.Stopped(limited, c.to.Name())})
		}
	})
	x := c.do(limited)
	stop()
	if c.landed.CompareAndSwap(false, true) {
		c.land(ctx, x)
	} else {
		c.to.stuck.Add(-1)
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

// land keeps the answer and delivers it. A failure is an answer, too, but not if the
// deliberation has ended.
func (c *call) land(ctx context.Context, x agent.Answered) {
	c.to.slots.give()
	c.runner.made(c.to.Name(), &c.ask, &x, time.Since(c.begun))
	raw := c.encode(x)
	var err error
	switch {
	case c.flight == nil:
	case x.Err != nil && ctx.Err() != nil:
		c.flight.Fail(x.Err)
	default:
		err = c.flight.Answer(ctx, raw)
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

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return protocol.Errorf(protocol.KindCancelled, "request: %w", ctx.Err())
	}
}
