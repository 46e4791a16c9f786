package outside

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/engine/agent"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// Runner carries out model calls that take time. A call waits for one of
// the slots, then for the model; both end when the deliberation is over.
//
// Calls of a deliberation that began with a critical event, or whose agent hears
// one meanwhile, get a slot before others.
//
// What leaves goes through the log of effects: an answer that was kept before a
// kill is given without a call, and needs no slot.
type Runner struct {
	Log *Log // nil for a model whose answers are free; set before the first call

	model llm.Provider
	codec *protocol.Codec
	count Counter
	slots *slots
	stuck atomic.Int32 // calls whose time is over and that have not returned
	done  sync.WaitGroup
}

// Counter is told of every call that was made.
type Counter func(model, outcome string, took time.Duration, u protocol.Usage)

// New makes one that has at most atOnce calls out.
func New(model llm.Provider, codec *protocol.Codec, atOnce int, count Counter) *Runner {
	return &Runner{model: model, codec: codec, count: count, slots: newSlots(atOnce)}
}

// Go starts a call of a turn; then is called once with its result.
func (r *Runner) Go(ctx context.Context, h *Haste, turn uint64, c *agent.CallModel, then func(protocol.ModelAnswer, error)) {
	r.done.Go(func() { then(r.call(ctx, h, turn, c)) })
}

// Hurry makes the calls of a deliberation urgent, also those that wait.
func (r *Runner) Hurry(h *Haste) { r.slots.hurry(h) }

// Urgent reports whether the calls of a deliberation are.
func (r *Runner) Urgent(h *Haste) bool { return r.slots.urgentNow(h) }

// call is on a goroutine of its own: a provider that panics would end the
// process.
func (r *Runner) call(ctx context.Context, h *Haste, turn uint64, c *agent.CallModel) (answer protocol.ModelAnswer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = protocol.Errorf(protocol.KindInternal, "model %s: panic: %v", r.model.Name(), p)
		}
	}()
	begun := time.Now()
	if r.Log == nil {
		err = r.slot(ctx, h, c, func() (err error) {
			answer, err = r.complete(ctx, c, begun)
			return err
		})
		return answer, err
	}
	e := r.effect(turn, c)
	raw, found, err := r.Log.Find(ctx, e)
	if !found {
		err = r.slot(ctx, h, c, func() (err error) {
			raw, err = r.Log.Do(ctx, e, func(ctx context.Context) (protocol.Raw, error) { return r.record(ctx, c, begun) })
			return err
		})
	}
	if err != nil {
		return answer, err
	}
	x, err := DecodeAnswer(r.codec, raw)
	if err != nil {
		return answer, err
	}
	return x.Answer, x.Err
}

// slot runs do when the call's wait is over and a slot is free.
func (r *Runner) slot(ctx context.Context, h *Haste, c *agent.CallModel, do func() error) error {
	if err := wait(ctx, c.Wait); err != nil {
		return err
	}
	waiting, stop := context.WithTimeout(ctx, timeoutOf(c))
	defer stop()
	if !r.slots.take(waiting, h) {
		return llm.Stopped(waiting, r.model.Name())
	}
	defer r.slots.give()
	if n := int(r.stuck.Load()); n >= r.slots.size {
		return protocol.Errorf(protocol.KindTransient, "model %s: %d calls have not returned although their time is over; no more are made until one does", r.model.Name(), n)
	}
	return do()
}

// modelTimeout bounds a call whose node sets no bound: a provider that never
// answers must not hold a deliberation for ever.
const modelTimeout = 10 * time.Minute

func timeoutOf(c *agent.CallModel) time.Duration {
	if c.Model.Timeout > 0 {
		return c.Model.Timeout
	}
	return modelTimeout
}

func (r *Runner) complete(ctx context.Context, c *agent.CallModel, begun time.Time) (protocol.ModelAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeoutOf(c))
	defer cancel()
	answer, err := r.bounded(ctx, c)
	r.count(c.Model.Model, string(llm.OutcomeOf(err)), time.Since(begun), answer.Usage)
	return answer, err
}

// bounded asks the model and waits until ctx ends, whatever the model makes of
// it. Calls of a model that heeds no context are stuck; there are never more of
// them than slots.
func (r *Runner) bounded(ctx context.Context, c *agent.CallModel) (protocol.ModelAnswer, error) {
	done := make(chan *agent.Answered, 1)
	go func() { done <- r.answer(ctx, c) }()
	select {
	case x := <-done:
		return x.Answer, x.Err
	case <-ctx.Done():
		r.stuck.Add(1)
		go func() { <-done; r.stuck.Add(-1) }()
		return protocol.ModelAnswer{}, llm.Stopped(ctx, r.model.Name())
	}
}

// answer is on a goroutine of its own: a provider that panics would end the
// process.
func (r *Runner) answer(ctx context.Context, c *agent.CallModel) (x *agent.Answered) {
	x = &agent.Answered{}
	defer func() {
		if p := recover(); p != nil {
			x.Err = protocol.Errorf(protocol.KindInternal, "model %s: panic: %v", r.model.Name(), p)
		}
	}()
	x.Answer, x.Err = r.model.Complete(ctx, c.Model, nil)
	return x
}

// record makes the call and encodes what became of it. A failure is an answer,
// too; that the scene stopped meanwhile is none.
func (r *Runner) record(ctx context.Context, c *agent.CallModel, begun time.Time) (protocol.Raw, error) {
	answer, err := r.complete(ctx, c, begun)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	return EncodeAnswer(r.codec, Answered(c.Request, answer, err))
}

// effect names a call in the log.
func (r *Runner) effect(turn uint64, c *agent.CallModel) *Effect {
	return &Effect{
		Agent: c.Model.Agent, Turn: turn, Request: c.Request, Kind: effectModel, To: r.model.Name(),
		Question: Hash(appendQuestion(nil, r.model.Name(), &c.Model)), MayRepeat: llm.MayRepeat(r.model, c.Model), At: c.Model.Now,
	}
}

// effectModel is the kind of effect that a model call is.
const effectModel = "model"

// Load is how many calls are out, and how many wait for a slot.
func (r *Runner) Load() (out, queued int) { return r.slots.load() }

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
		return protocol.Errorf(protocol.KindCancelled, "model call: %w", ctx.Err())
	}
}

// Wait returns when every call has ended.
func (r *Runner) Wait() { r.done.Wait() }
