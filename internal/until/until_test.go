package until_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/internal/until"
)

type key struct{}

// begin begins a context of three seconds that follows another.
func begin(parent context.Context, late error) *until.Context {
	c := &until.Context{}
	c.Begin(parent, 3*time.Second, late)
	c.Follow(parent)
	return c
}

// It ends by its time, with whom it follows, or by End, whichever is first, and says
// why; what follows it and what waits for its end hear of it.
func TestEnds(t *testing.T) {
	late, why := errors.New("late"), errors.New("why")
	for name, c := range map[string]struct {
		end   func(c *until.Context, parent context.CancelCauseFunc)
		after time.Duration
		err   error
		cause error
	}{
		"time":     {func(*until.Context, context.CancelCauseFunc) {}, 3 * time.Second, context.DeadlineExceeded, late},
		"moved":    {func(c *until.Context, _ context.CancelCauseFunc) { c.Move(7 * time.Second) }, 7 * time.Second, context.DeadlineExceeded, late},
		"followed": {func(_ *until.Context, parent context.CancelCauseFunc) { parent(why) }, 0, context.Canceled, why},
		"ended":    {func(c *until.Context, _ context.CancelCauseFunc) { c.End(why) }, 0, context.Canceled, why},
		"done":     {func(c *until.Context, _ context.CancelCauseFunc) { c.End(nil) }, 0, context.Canceled, context.Canceled},
		"twice": {func(c *until.Context, parent context.CancelCauseFunc) {
			c.End(why)
			c.End(late)
			parent(late)
			c.Move(0)
		}, 0, context.Canceled, why},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, 7))
				defer cancel(nil)
				x := begin(parent, late)
				defer x.End(nil)
				below, stop := context.WithCancel(x)
				defer stop()
				under := begin(x, late)
				under.Move(time.Hour)
				var heard atomic.Int32
				x.AfterFunc(func() { heard.Add(1) })
				if taken := x.AfterFunc(func() { heard.Add(10) }); !taken() || taken() {
					t.Error("it was taken back, once")
				}
				if x.Err() != nil || x.Cause() != nil || x.Value(key{}) != 7 {
					t.Error("it has ended, or lacks its values")
				}
				began := time.Now()
				c.end(x, cancel)
				<-x.Done()
				synctest.Wait()
				if took := time.Since(began); took != c.after || !errors.Is(x.Err(), c.err) || !errors.Is(x.Cause(), c.cause) {
					t.Errorf("after %s: %v, %v", took, x.Err(), x.Cause())
				}
				if below.Err() == nil || under.Err() == nil || heard.Load() != 1 {
					t.Errorf("below %v, %v, heard %d", below.Err(), under.Err(), heard.Load())
				}
				x.AfterFunc(func() { heard.Add(1) })
				synctest.Wait()
				if heard.Load() != 2 {
					t.Error("what waits for an end that has been is not called")
				}
			})
		})
	}
}

// One without a time ends with whom it follows, and has their deadline; Move gives it a time.
func TestNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := begin(t.Context(), context.DeadlineExceeded)
		defer parent.End(nil)
		late := errors.New("late")
		follows, moved := &until.Context{}, &until.Context{}
		for _, c := range []*until.Context{follows, moved} {
			c.Begin(parent, until.NoTime, late)
			c.Follow(parent)
		}
		if at, ok := follows.Deadline(); !ok || time.Until(at) != 3*time.Second {
			t.Error(at, ok)
		}
		moved.Move(time.Second)
		began := time.Now()
		if <-moved.Done(); time.Since(began) != time.Second || !errors.Is(moved.Cause(), late) {
			t.Error(time.Since(began), moved.Cause())
		}
		if <-follows.Done(); time.Since(began) != 3*time.Second || !errors.Is(follows.Cause(), context.DeadlineExceeded) {
			t.Error(time.Since(began), follows.Cause())
		}
	})
}

// Who follows a context that has ended ends at once; one that never ends is no burden.
func TestFollowsTheEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := begin(ctx, context.DeadlineExceeded)
		d := begin(c, context.DeadlineExceeded)
		if !errors.Is(c.Err(), context.Canceled) || !errors.Is(d.Err(), context.Canceled) {
			t.Error(c.Err(), d.Err())
		}
		free := begin(context.Background(), context.DeadlineExceeded)
		if at, ok := free.Deadline(); !ok || time.Until(at) != 3*time.Second {
			t.Error(at, ok)
		}
		free.End(nil)
		near, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if at, ok := begin(near, context.DeadlineExceeded).Deadline(); !ok || time.Until(at) != time.Second {
			t.Error(at, ok)
		}
	})
}

// Who waits is called at the end, in the order in which they came, unless it was taken back.
func TestWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := begin(context.Background(), context.DeadlineExceeded)
		waiters, called := make([]until.Waiter, 5), []int{}
		for i := range waiters {
			waiters[i].After(c, func() { called = append(called, i) })
		}
		for _, i := range []int{0, 2, 4} { // first, middle, last
			if !waiters[i].Stop() || waiters[i].Stop() {
				t.Errorf("waiter %d was not taken back, once", i)
			}
		}
		c.End(nil)
		if !slices.Equal(called, []int{1, 3}) || waiters[1].Stop() || new(until.Waiter).Stop() {
			t.Errorf("called: %v", called)
		}
		var late atomic.Int32
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for _, ctx := range []context.Context{c, ended} {
			var w until.Waiter
			w.After(ctx, func() { late.Add(1) })
			synctest.Wait()
			if w.Stop() {
				t.Error("it was taken back after it was called")
			}
		}
		if late.Load() != 2 {
			t.Errorf("%d of 2 that came too late were called", late.Load())
		}
	})
}

// Whatever goes on at once: a waiter is called or was taken back, and who follows ends.
func TestWaitersAtOnce(t *testing.T) {
	for range 200 {
		c := begin(context.Background(), context.DeadlineExceeded)
		var called, back atomic.Int32
		var all, calls sync.WaitGroup
		const each = 8
		calls.Add(each)
		for i := range each {
			all.Go(func() {
				var w until.Waiter
				w.After(c, func() { called.Add(1); calls.Done() })
				if i%2 == 0 && w.Stop() {
					back.Add(1)
					calls.Done()
				}
			})
			all.Go(func() {
				under := begin(c, context.DeadlineExceeded)
				<-under.Done()
				under.End(nil)
			})
		}
		all.Go(func() { c.End(nil) })
		all.Wait()
		calls.Wait()
		if called.Load()+back.Load() != each {
			t.Fatalf("%d were called and %d taken back, of %d", called.Load(), back.Load(), each)
		}
	}
}

// A context within another one ends as one of context.WithTimeout does.
func TestWithin(t *testing.T) {
	why := errors.New("why")
	for name, c := range map[string]struct {
		end   func(parent *until.Context, stop context.CancelFunc)
		after time.Duration
		err   error
		cause error
	}{
		"time":      {func(*until.Context, context.CancelFunc) {}, time.Second, context.DeadlineExceeded, context.DeadlineExceeded},
		"stopped":   {func(_ *until.Context, stop context.CancelFunc) { stop() }, 0, context.Canceled, context.Canceled},
		"its owner": {func(parent *until.Context, _ context.CancelFunc) { parent.End(why) }, 0, context.Canceled, why},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent := begin(context.WithValue(t.Context(), key{}, 7), why)
				defer parent.End(nil)
				x, stop := until.Within(parent, time.Second)
				defer stop()
				begun := time.Now()
				if end, ok := x.Deadline(); !ok || end != begun.Add(time.Second) || x.Value(key{}) != 7 || x.Err() != nil {
					t.Errorf("deadline %s, value %v, %v", end.Sub(begun), x.Value(key{}), x.Err())
				}
				c.end(parent, stop)
				<-x.Done()
				if took := time.Since(begun); took != c.after || !errors.Is(x.Err(), c.err) {
					t.Errorf("after %s: %v", took, x.Err())
				}
				if own, ok := x.(*until.Context); !ok || !errors.Is(own.Cause(), c.cause) {
					t.Errorf("cause %v", own.Cause())
				}
				if later, stop := until.Within(parent, time.Hour); (later.Err() != nil) != (parent.Err() != nil) {
					t.Errorf("a later one: %v, its parent: %v", later.Err(), parent.Err())
				} else {
					stop()
				}
			})
		})
	}
}

// Without time, or within a context of another kind, it is one of context.WithTimeout.
func TestWithinOthers(t *testing.T) {
	parent := begin(t.Context(), nil)
	defer parent.End(nil)
	for name, c := range map[string]struct {
		parent context.Context
		d      time.Duration
		err    error
	}{"no time": {parent, 0, context.DeadlineExceeded}, "another kind": {t.Context(), time.Hour, nil}} {
		x, stop := until.Within(c.parent, c.d)
		if !errors.Is(x.Err(), c.err) {
			t.Errorf("%s: %v", name, x.Err())
		}
		stop()
		if x.Err() == nil {
			t.Errorf("%s: it goes on", name)
		}
	}
}
