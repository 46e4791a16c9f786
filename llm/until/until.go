// Package until has the context of one request, which ends by its time, with whoever
// asked, or when it is done.
//
// It replaces a chain of context.WithTimeout, WithCancelCause and AfterFunc, and a timer
// for each phase of a request. The owner calls [Context.Begin] once, before anybody else
// has it, and must call [Context.End].
package until

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Context is a context.Context. Its zero value is ready for Begin.
type Context struct {
	values   context.Context
	late     error
	deadline time.Time // that others see; zero = those of values

	mu    sync.Mutex    // guards the following fields
	timer *time.Timer   // nil = it has no time of its own
	leave func() bool   // of whom it follows
	done  chan struct{} // nil = nobody has asked
	cause error         // nil = it goes on
	err   error
	after []*func()  // what is called at the end
	room  [2]*func() // the first of after
}

// NoTime lets a context have no time of its own: it ends with others only.
const NoTime time.Duration = -1

// Begin begins the time, if it is not [NoTime]: after d the context ends with late as its cause. With
// context.DeadlineExceeded, d is its deadline. It has the values of another context, but
// does not end with it; see Follow.
func (c *Context) Begin(values context.Context, d time.Duration, late error) {
	c.values, c.late, c.after = values, late, c.room[:0]
	if d == NoTime {
		return
	}
	if errors.Is(late, context.DeadlineExceeded) {
		c.deadline = time.Now().Add(d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(d, c.expire)
}

func (c *Context) expire() { c.finish(context.DeadlineExceeded, c.late) }

// Follow lets it end with another context, as that did.
func (c *Context) Follow(parent context.Context) {
	if parent.Done() == nil {
		return
	}
	ended := func() { c.finish(parent.Err(), context.Cause(parent)) }
	leave := After(parent, ended)
	c.mu.Lock()
	over := c.cause != nil
	c.leave = leave
	c.mu.Unlock()
	if over {
		leave()
	}
}

// After calls f at the end of a context; stop takes that back, and reports whether it did. f must
// return soon. It is context.AfterFunc, without a goroutine and a channel where the context
// can do it itself.
func After(ctx context.Context, f func()) (stop func() bool) {
	if own, ok := ctx.(interface{ AfterFunc(f func()) func() bool }); ok {
		return own.AfterFunc(f)
	}
	return context.AfterFunc(ctx, f)
}

// Move ends the context d from now, instead of when it would.
func (c *Context) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cause != nil:
	case c.timer == nil:
		c.timer = time.AfterFunc(d, c.expire)
	default:
		c.timer.Reset(d)
	}
}

// End ends the context, with a cause if there is one. It may be called again.
func (c *Context) End(cause error) { c.finish(context.Canceled, cause) }

func (c *Context) finish(err, cause error) {
	c.mu.Lock()
	if c.cause != nil {
		c.mu.Unlock()
		return
	}
	if c.err, c.cause = err, cause; cause == nil {
		c.cause = err
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.done != nil {
		close(c.done)
	}
	after, leave := c.after, c.leave
	c.after = nil
	c.mu.Unlock()
	if leave != nil {
		leave()
	}
	for _, f := range after {
		(*f)()
	}
}

// Cause is why it ended; nil = it goes on. context.Cause knows it of those that follow
// it alone.
func (c *Context) Cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// AfterFunc calls f at the end; stop takes that back, and reports whether it did. It is
// as context.AfterFunc, but f is called on the goroutine that ends the context, and so
// must return soon. Package context knows the method.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		go f()
		return func() bool { return false }
	}
	c.after = append(c.after, &f)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := len(c.after)
		c.after = slices.DeleteFunc(c.after, func(x *func()) bool { return x == &f })
		return len(c.after) < n
	}
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) {
	theirs, ok := c.values.Deadline()
	if c.deadline.IsZero() || ok && theirs.Before(c.deadline) {
		return theirs, ok
	}
	return c.deadline, true
}

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.cause != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Value implements context.Context.
func (c *Context) Value(key any) any { return c.values.Value(key) }
