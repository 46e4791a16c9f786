// Package until has the context of one request, of a turn or of a scene. It ends at its deadline, with
// its parent, or when it is done.
//
// It replaces a chain of context.WithTimeout, WithCancelCause and AfterFunc, and a timer
// for each phase of a request. The owner calls [Context.Begin] once, before it shares the
// context, and must call [Context.End]. A child context, or a [Waiter] for its end,
// allocates no object, and is removed in constant time, however many there are.
package until

import (
	"context"
	"errors"
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
	done  chan struct{} // nil = nobody has asked
	cause error         // nil = it goes on
	err   error
	first *Waiter // who waits for the end, in the order in which they came
	last  *Waiter

	follows Waiter // of whom it follows
}

// NoTime lets a context have no time of its own: it ends with others only.
const NoTime time.Duration = -1

// Begin begins the time, if it is not [NoTime]: after d the context ends with late as its cause. With
// context.DeadlineExceeded, d is its deadline. It has the values of another context, but
// does not end with it; see Follow.
func (c *Context) Begin(values context.Context, d time.Duration, late error) {
	c.values, c.late = values, late
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

// Following is a context that ends with another, or when its owner ends it.
func Following(parent context.Context) *Context {
	c := new(Context)
	c.Begin(parent, NoTime, nil)
	c.Follow(parent)
	return c
}

// Within is context.WithTimeout, which makes fewer objects here if the parent is of this package.
func Within(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if ownOf(parent) == nil || d <= 0 { // a timer would end it a moment later only
		return context.WithTimeout(parent, d)
	}
	x := new(Context)
	x.Begin(parent, d, context.DeadlineExceeded)
	x.Follow(parent)
	return x, func() { x.End(nil) }
}

func (c *Context) expire() { c.finish(context.DeadlineExceeded, c.late) }

// Follow lets it end with another context, as that did. It is called once at most.
func (c *Context) Follow(parent context.Context) {
	own := ownOf(parent)
	if c.follow(parent, own) {
		return
	}
	cause := context.Cause(parent)
	if own != nil {
		cause = own.Cause()
	}
	c.finish(parent.Err(), cause) // before Follow returns: who has it next shall ask for nothing
}

// follow is Follow of one that goes on; false = it has ended.
func (c *Context) follow(parent context.Context, own *Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cause != nil: // its time was over at once
	case own != nil:
		c.follows.context = c
		return c.follows.join(own)
	case parent.Err() != nil:
		return false
	case parent.Done() != nil:
		c.follows.After(parent, func() { c.finish(parent.Err(), context.Cause(parent)) })
	}
	return true
}

func (c *Context) own() *Context { return c }

// ownOf is a context as one of this package, also as a part of another type; nil = it is of another kind.
func ownOf(ctx context.Context) *Context {
	if x, ok := ctx.(interface{ own() *Context }); ok {
		return x.own()
	}
	return nil
}

// Waiter waits for the end of one context. Its zero value waits for none.
type Waiter struct {
	leave func() bool // of a context of another kind

	of      *Context // nil = of another kind
	call    func()   // at its end
	context *Context // if call is nil: what ends as it does

	// The lock of the context guards the following fields.
	waits      bool
	next, prev *Waiter
}

// After calls f at the end of a context. It is called once at most. f is called on the goroutine
// that ends a context of this package, and so must return soon; of others it has a goroutine.
func (w *Waiter) After(ctx context.Context, f func()) {
	if own := ownOf(ctx); own != nil {
		w.after(own, f)
		return
	}
	w.leave = context.AfterFunc(ctx, f)
}

func (w *Waiter) after(c *Context, f func()) {
	if w.call = f; !w.join(c) {
		go f()
	}
}

// Stop takes that back, and reports whether it did: if not, f was called, or there is none.
func (w *Waiter) Stop() bool {
	switch {
	case w.leave != nil:
		return w.leave()
	case w.of == nil:
		return false
	}
	c := w.of
	c.mu.Lock()
	defer c.mu.Unlock()
	if !w.waits {
		return false
	}
	w.waits = false
	if w.prev == nil {
		c.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		c.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	return true
}

// join lets it wait for the end of a context; false = that has ended.
func (w *Waiter) join(c *Context) bool {
	w.of = c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return false
	}
	w.waits, w.prev = true, c.last
	if c.last == nil {
		c.first = w
	} else {
		c.last.next = w
	}
	c.last = w
	return true
}

// over is called when the context has ended.
func (w *Waiter) over() {
	if w.call != nil {
		w.call()
		return
	}
	w.context.finish(w.of.err, w.of.cause) // nobody changes them any more
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
	first := c.first
	c.first, c.last = nil, nil
	for w := first; w != nil; w = w.next {
		w.waits = false
	}
	c.mu.Unlock()
	c.follows.Stop()
	for w := first; w != nil; {
		next := w.next
		w.next, w.prev = nil, nil
		w.over()
		w = next
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
	w := &Waiter{}
	w.after(c, f)
	return w.Stop
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
