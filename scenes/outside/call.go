package outside

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/internal/until"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// call is one request, from [Runner.Go] to its answer. While it waits, in a gate or for
// the log, it is a value; an attempt has a goroutine. If the executor does not return in
// time, another goroutine takes over the rest.
type call struct {
	limit.Call
	runner  *Runner
	to      *executor
	gate    *gate.Gate
	from    From
	ask     effect.Ask
	chosen  llm.Route       // what answers, if the provider has several models
	ctx     context.Context // of the deliberation
	made    time.Time       // when its pause is over
	waiting time.Time       // since when it waits for its next attempt
	then    func(*effect.Answered)
	hears   func(error)      // of the log; nil = it has none to tell yet
	answer  *effect.Answered // that the log keeps; it is set before the log has it, and read by what the log calls
	effect  *Effect          // nil = nothing is kept
	entry   Effect           // which effect is, unless another call began it
	same    same
	turn    until.Waiter // for the end of ctx
	shadow  until.Waiter // for that of the shadow

	mu      sync.Mutex // guards the following fields
	phase   phase
	free    bool          // what was sent of it has cost nothing
	at      *atomic.Int64 // counts the calls that wait at its gate; nil = it has none yet
	flight  *Flight       // in the log, from the first attempt on
	attempt *attempt
}

// start answers the request, or lets it enter the gate. It returns soon.
func (c *call) start() {
	if c.made = time.Now().Add(c.ask.Wait); c.to == nil {
		go c.end(nil, protocol.Errorf(protocol.KindUnknown, "nobody carries out requests of kind %q in this run", c.ask.Kind))
		return
	}
	c.watchContext()
	if c.effect = c.logged(); c.effect != nil && c.runner.Log.Knows(c.effect) {
		go c.find()
		return
	}
	c.enter()
}

// watchContext lets the call hear of the end of its deliberation.
func (c *call) watchContext() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn.After(c.ctx, func() { go c.cancelled() }) // it tells the agent, which may be the one that ends ctx
	if c.from.Ahead != nil {
		c.shadow.After(c.from.Ahead.Context, func() { go c.stale() })
	}
}

// unwatch ends that, after the lock was held.
func (c *call) unwatch() {
	c.turn.Stop()
	c.shadow.Stop()
}

// stale ends a call of a shadow that is wanted no more, if it was never sent. One that was may
// have been joined by the turn itself, and is paid for.
func (c *call) stale() {
	c.mu.Lock()
	never := (c.phase == waits || c.phase == follows) && c.flight == nil
	if never {
		c.become(ended)
	}
	c.mu.Unlock()
	if never {
		c.gate.Leave(&c.Call)
		c.drop(nil, protocol.Errorf(protocol.KindCancelled, "request: %w", context.Cause(c.from.Ahead.Context)))
	}
}

// find answers a request that the log knows.
func (c *call) find() {
	raw, found, err := c.runner.Log.Find(c.ctx, c.effect)
	if !found {
		c.enter()
		return
	}
	var x *effect.Answered
	if err == nil {
		x, err = effect.ReadAnswered(c.ask.Kind, raw)
	}
	c.end(x, err)
}

// enter waits for the first attempt.
func (c *call) enter() {
	c.gate, c.Tokens = c.to.gateOf(&c.ask)
	c.Scene, c.Class, c.Owner = c.from.Scene, classOf(c.from.Class, &c.ask), c
	if c.Share = c.ask.Model.Share; c.Share > 0 {
		c.Group = c.from.Scene + "/" + c.ask.Model.Profile
	}
	if c.from.Virtual {
		c.Rank = limit.Rank{At: int64(c.from.At), Rest: c.from.Rest}
	}
	c.Draw = c.ask.Model.Draw.Sub(transportDraws)
	c.Once = c.from.Bound != nil || !c.to.MayRepeat(&c.ask) // one attempt is reserved that may cost something
	class := c.runner.join(c)
	c.waiting = time.Now().Add(c.ask.Wait)
	c.at = c.runner.waitingAt(c.gate)
	if !c.follow(class) {
		c.await(false)
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

// look ends a call whose deliberation ended before it began to wait.
func (c *call) look() {
	if c.ctx.Err() != nil {
		c.cancelled()
	}
	if c.from.Ahead != nil && c.from.Ahead.Context.Err() != nil {
		c.stale()
	}
}

// cancelled ends a call because its deliberation has ended. One that looks for its
// answer sees the same by its context.
func (c *call) cancelled() {
	c.mu.Lock()
	was, flight, at := c.phase, c.flight, c.attempt
	if was == finds || was == out || was == ended {
		c.mu.Unlock()
		if was == out && at != nil {
			at.End(context.Cause(c.ctx))
			c.goesOnLate(at)
		}
		return
	}
	c.become(ended)
	back := (was == waits || was == follows) && flight != nil && c.free && flight.effect.Most != nil
	c.mu.Unlock()
	if back {
		flight.TakeBack()
	}
	switch was {
	case waits:
		c.gate.Leave(&c.Call) // if it is being released, Released ends the attempt
	case keeps:
		c.gate.End(&c.Call, limit.End{Outcome: llm.OutcomeCancelled})
	}
	c.drop(flight, protocol.Errorf(protocol.KindCancelled, "request: %w", context.Cause(c.ctx)))
}

// drop ends a call without an answer to keep.
func (c *call) drop(flight *Flight, err error) {
	if flight != nil {
		flight.Fail(err)
	}
	c.end(nil, err)
}

// Refused implements gate.Caller. What was never sent is not kept.
func (c *call) Refused(err error) {
	x := c.failed(err)
	c.runner.watch.Made(c.to.Name(), &c.ask, x, 0)
	c.land(x)
}

// logged returns the entry of the request in the log; nil if nothing is kept.
func (c *call) logged() *Effect {
	if c.runner.Log == nil || c.to.instant != nil {
		return nil
	}
	to, size := c.to.Name(), questionSize
	if c.to.tools != nil {
		to, size = c.ask.Call.Tool, callSize
	}
	question := appendQuestion(make([]byte, 0, size), c.to.Name(), &c.ask)
	e := &c.entry
	*e = Effect{
		Agent: c.from.Agent, Turn: c.from.Turn, Of: c.from.Of, Request: c.ask.Number, Kind: c.ask.Kind, To: to,
		Question: Hash(question), MayRepeat: c.to.MayRepeat(&c.ask), At: c.from.At, room: question[:0], of: c,
	}
	if a := c.from.Ahead; a != nil {
		e.Ahead, e.became, e.Question = true, a.Became, c.to.foretold(&c.ask, nil)
	} else {
		e.Most = c.most(false, c.from.Bound)
	}
	return e
}

// Released implements gate.Caller: it makes an attempt when the request is kept.
func (c *call) Released(class limit.Class) {
	waited := max(0, time.Since(c.waiting))
	c.runner.watch.Waited(c.ask.Kind, c.gate.Name(), class, waited)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.phase != waits, c.runner.held.Load(): // the deliberation has ended, or will
		go c.gate.End(&c.Call, limit.End{Outcome: llm.OutcomeCancelled})
	case int(c.gate.Stuck.Load()) >= c.gate.Most():
		c.become(out)
		go c.ended(&attempt{begun: time.Now()}, c.failed(&llm.Failure{Outcome: llm.OutcomeUnavailable, Message: fmt.Sprintf(
			"%s %s: %d calls have not returned although their time is over; no more are made until one does", c.to.kind, c.to.Name(), c.gate.Stuck.Load())}))
	case c.effect == nil || c.flight != nil:
		if c.flight != nil {
			c.flight.Passed(c.gate, waited, true)
		}
		c.become(out)
		go c.onNewStack()
	default:
		if c.flight = c.runner.Log.Begin(c.effect, c.told()); c.flight != nil {
			c.flight.Passed(c.gate, waited, false)
			if c.become(keeps); c.flight.MayLeave() {
				c.become(out)
				go c.onNewStack()
			}
			return
		}
		c.become(finds)
		go func() {
			c.gate.End(&c.Call, limit.End{Outcome: llm.OutcomeCancelled})
			c.find()
		}()
	}
}

// told is kept, made once.
func (c *call) told() func(error) {
	if c.hears == nil {
		c.hears = c.kept
	}
	return c.hears
}

// kept is called by the log when the request or its answer is durable, or cannot be.
func (c *call) kept(err error) {
	switch {
	case c.move(lands, ended):
		c.end(c.answer, err)
	case err == nil && c.move(keeps, out):
		go c.onNewStack()
	case err != nil && c.move(keeps, ended):
		c.gate.End(&c.Call, limit.End{Outcome: llm.OutcomeCancelled})
		c.drop(c.flight, err)
	}
}

// land settles the request, unless another model takes it over. A failure is an answer,
// too, but not if the deliberation has ended.
func (c *call) land(x *effect.Answered) {
	if !c.elsewhere(x) {
		c.settle(x)
	}
}

// settle keeps the answer and delivers it.
func (c *call) settle(x *effect.Answered) {
	if !c.from.Virtual && c.ask.Kind == effect.KindModel { // whatever it would have been on the virtual clock
		x.Model.Latency = max(0, time.Since(c.made))
	}
	c.complete(x)
	switch failed := x.Err != nil && c.ctx.Err() != nil; {
	case c.flight == nil && c.move(waits, ended):
		c.end(x, nil)
	case c.flight != nil && failed && c.move(waits, ended):
		c.drop(c.flight, x.Err)
	case c.flight != nil && c.move(waits, lands):
		if b := c.from.Bound; b != nil {
			c.flight.spent = spentOf(x, b.Cost)
		}
		c.answer = x
		c.flight.Answer(x.AppendMsg, c.told())
		c.look()
	}
}

// end delivers the answer; an error becomes the answer.
func (c *call) end(x *effect.Answered, err error) {
	c.mu.Lock()
	sent := c.flight != nil
	c.mu.Unlock()
	c.unwatch()
	if a := c.from.Ahead; a != nil {
		if !sent {
			a.Became(NeverSent)
		}
		defer c.runner.ahead.Done()
	}
	if err != nil {
		x = &effect.Answered{Err: err}
		c.complete(x)
	}
	c.unshare(c.ctx.Err() == nil && protocol.KindOf(err) != protocol.KindCancelled)
	c.runner.under.Add(-1)
	c.then(x)
	c.runner.done.Done()
}

// complete makes an answer one that can be encoded, and that is as the log would give it
// again. An output that is not a value of package protocol fails the request.
func (c *call) complete(x *effect.Answered) {
	if err := normalize(x); err != nil {
		*x = effect.Answered{Err: err}
	}
	x.Kind, x.Number = c.ask.Kind, c.ask.Number
	x.Settle()
}

func normalize(x *effect.Answered) (err error) {
	if x.Output, err = protocol.NormalizeBounded(x.Output); err != nil {
		return err
	}
	for i := range x.Model.Calls {
		p := &x.Model.Calls[i].Params
		v, err := protocol.NormalizeBounded(*p)
		if err != nil {
			return err
		}
		*p, _ = v.(map[string]any)
	}
	return nil
}
