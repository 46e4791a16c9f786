package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/internal/until"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
)

// Options of one call.
type Options struct {
	Timeout time.Duration // 0 = the tool's; a longer one is the tool's, too
	Retries int           // attempts after the first, at most tool.MaxRetries
	Draw    protocol.Draw // of the pauses

	// Mask takes what must not be kept out of a result, while it is whole.
	Mask func(*Result)
	// Check says what is wrong with an output that is whole; nil = nothing.
	Check func(output any) error
	// Keep makes an artifact of a file; nil = none is kept, and long outputs are cut only.
	Keep func(Blob) (tool.Artifact, error)
	// Left gives files that are kept however the call ended, after its end; nil = there are
	// none.
	Left func() []Blob
	// Again is told how an attempt ended that another one follows; nil = nobody is.
	Again func(protocol.ErrorKind)
}

// maxObeyed is the longest Retry-After that is waited for; a longer one is final.
const maxObeyed = 60 * time.Second

// Run makes a call.
func Run(ctx context.Context, x Executor, c *Call, o Options) Result {
	begun, limit := time.Now(), o.limit(c)
	ctx, stop := until.Within(ctx, limit)
	defer stop()
	call := *c
	var r Result
	carried := false // by an attempt before
	for call.Attempt = 1; ; call.Attempt++ {
		carried = carried || r.Lost || r.Carried
		r = attempt(ctx, x, &call)
		r.interpret(ctx, &call, limit)
		pause := r.pause(call.Attempt, &o.Draw)
		if call.Attempt > min(o.Retries, tool.MaxRetries) || !r.again(call.Tool) || pause > maxObeyed || !wait(ctx, pause) {
			break
		}
		if o.Again != nil {
			o.Again(r.Error.Kind)
		}
	}
	if call.Attempt == 1 && o.Retries > 0 {
		r.once(call.Tool)
	}
	r.Meta = Meta{Tool: c.Tool.ID, Attempts: call.Attempt, Latency: elapsed(begun), Bytes: r.Size, LeftOut: r.LeftOut}
	r.Carried = r.Carried || carried
	r.finish(&o, c.Tool.Limits)
	return r
}

// limit is the time that a call has.
func (o *Options) limit(c *Call) time.Duration {
	if limit := c.Tool.Execution.Timeout.Std(); o.Timeout <= 0 || limit < o.Timeout {
		return limit
	}
	return o.Timeout
}

// Simulate is Run for attempts that only say how long they take: their latencies and the
// pauses are added up, and none passes.
func Simulate(c *Call, o Options, attempt func(*Call) (Result, time.Duration)) Result {
	limit, total := o.limit(c), time.Duration(0)
	call := *c
	var r Result
	carried := false // by an attempt before
	for call.Attempt = 1; ; call.Attempt++ {
		carried = carried || r.Lost || r.Carried
		took := time.Duration(0)
		r, took = attempt(&call)
		total += took
		if r.Status == TimedOut || total > limit {
			total = limit
			r = Fail(protocol.KindTimeout, fmt.Sprintf("no answer within %s", limit))
			r.Lost = true
		}
		r.interpret(context.Background(), &call, limit)
		pause := r.pause(call.Attempt, &o.Draw)
		if call.Attempt > min(o.Retries, tool.MaxRetries) || !r.again(call.Tool) || pause > maxObeyed || total+pause >= limit {
			break
		}
		total += pause
	}
	if call.Attempt == 1 && o.Retries > 0 {
		r.once(call.Tool)
	}
	r.Meta = Meta{Tool: c.Tool.ID, Attempts: call.Attempt, Latency: protocol.Duration(total)}
	r.Carried = r.Carried || carried
	r.finish(&o, c.Tool.Limits)
	return r
}

// attempt turns a panic into an error.
func attempt(ctx context.Context, x Executor, c *Call) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = Fail(protocol.KindInternal, fmt.Sprintf("panic: %v", p))
		}
	}()
	if ctx.Err() != nil {
		r = Fail(protocol.KindCancelled, context.Cause(ctx).Error())
		r.Unsent = true
		return r
	}
	return x.Call(ctx, c)
}

// interpret says what a failure means: whether the time was over or the caller left, and
// whether a call that must not be repeated may have done its work.
func (r *Result) interpret(ctx context.Context, c *Call, limit time.Duration) {
	if r.Status == OK && r.Error == nil {
		return
	}
	if r.Error == nil {
		*r = Fail(protocol.KindInternal, fmt.Sprintf("the executor gave the status %q without an error", r.Status))
	}
	kind, unsent, lost, size, own := r.Error.Kind, r.Unsent, r.Lost, r.Size, r.Own
	if err := ctx.Err(); err != nil && (kind == protocol.KindTransient || kind == protocol.KindTimeout || kind == protocol.KindCancelled) {
		if kind = protocol.KindCancelled; errors.Is(err, context.DeadlineExceeded) {
			kind = protocol.KindTimeout
			r.Error.Message, own = notWithin(limit, r), fmt.Sprintf("no answer within %s", limit)
		}
		*r = Fail(kind, r.Error.Message)
	}
	lost = !unsent && (lost || kind == protocol.KindTimeout || kind == protocol.KindCancelled)
	if lost && c.Tool.Execution.Repeat == manifest.Never {
		const warning = "; it may have been carried out, and must not be repeated"
		*r = Fail(protocol.KindUnknownOutcome, r.Error.Message+warning)
		own = cmp.Or(own, "the call failed") + warning
	}
	r.Unsent, r.Size, r.Own = unsent, size, own
}

// notWithin says why there is no answer: one that never left has a reason of its own.
func notWithin(limit time.Duration, r *Result) string {
	text := fmt.Sprintf("no answer within %s", limit)
	if r.Unsent {
		text += ": " + r.Error.Message
	}
	return text
}

// again reports whether another attempt may be made. Whoever writes a call of a script knows whether one helps that
// ended with another exit code than 0.
func (r *Result) again(t *manifest.Tool) bool {
	if r.Error == nil {
		return false
	}
	passes := r.Error.Retryable || r.Error.Kind == KindTool && t.Implementation.Type == manifest.Script
	return passes && (t.Execution.Repeat != manifest.Never || r.Unsent)
}

// once says in a failure why there was no other attempt although the call wanted some.
func (r *Result) once(t *manifest.Tool) {
	if r.Error == nil || r.again(t) { // there was no time for it
		return
	}
	why := ""
	switch kind := r.Error.Kind; {
	case kind == protocol.KindUnknownOutcome: // it says so itself
	case t.Execution.Repeat == manifest.Never && (r.Error.Retryable || kind == KindTool):
		why = "the definition of the tool does not allow repetition (execution.repeat: never)"
	case !r.Error.Retryable && kind == KindTool:
		why = "the tool gave its answer, and would give it again"
	}
	if why != "" {
		const text = "; it was not tried again (retry): "
		r.Error.Message += text + why
		if r.Own != "" {
			r.Own += text + why
		}
	}
}

// pause is the time before the next attempt: what the tool asks for, or what all calls have.
func (r *Result) pause(attempts int, draw *protocol.Draw) time.Duration {
	if r.Error != nil && r.Error.RetryAfter > 0 {
		return r.Error.RetryAfter.Std()
	}
	return tool.Pause(attempts, draw)
}

// wait lets a pause pass; false = there is no time for it.
func wait(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
