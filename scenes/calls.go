package scenes

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/engine/agent"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// callRunner carries out model calls that take time. A call waits for one of
// the slots, then for the model; both end when the deliberation is over.
type callRunner struct {
	model llm.Provider
	slots chan struct{}
	queue atomic.Int32 // calls that wait for a slot
	done  sync.WaitGroup
}

func newCallRunner(model llm.Provider, slots int) *callRunner {
	return &callRunner{model: model, slots: make(chan struct{}, slots)}
}

// Go starts a call; then is called once with its result.
func (r *callRunner) Go(ctx context.Context, c *agent.CallModel, then func(protocol.ModelAnswer, error)) {
	r.done.Go(func() { then(r.call(ctx, c)) })
}

// call is on a goroutine of its own: a provider that panics would end the
// process.
func (r *callRunner) call(ctx context.Context, c *agent.CallModel) (answer protocol.ModelAnswer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = protocol.Errorf(protocol.KindInternal, "model %s: panic: %v", r.model.Name(), p)
		}
	}()
	if err := wait(ctx, c.Wait); err != nil {
		return protocol.ModelAnswer{}, err
	}
	if !r.take(ctx) {
		return protocol.ModelAnswer{}, llm.Stopped(ctx, r.model.Name())
	}
	defer func() { <-r.slots }()
	if c.Model.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Model.Timeout)
		defer cancel()
	}
	return r.model.Complete(ctx, c.Model, nil)
}

// take waits for a slot; false = ctx ended first.
func (r *callRunner) take(ctx context.Context) bool {
	r.queue.Add(1)
	defer r.queue.Add(-1)
	select {
	case r.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// load is how many calls are out, and how many wait for a slot.
func (r *callRunner) load() (out, queued int) { return len(r.slots), int(r.queue.Load()) }

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
func (r *callRunner) Wait() { r.done.Wait() }
