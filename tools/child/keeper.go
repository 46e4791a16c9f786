package child

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
)

const (
	maxStarts  = 5 // in a row, without an answer between them
	maxSilent  = 3 // calls in a row without an answer
	firstPause = time.Second
	maxPause   = time.Minute
)

// Of says what a Keeper keeps.
type Of[S comparable] struct {
	Name  string        // in errors: "the MCP server x"
	Start time.Duration // in which a session must be ready
	Pause time.Duration // after the first failure, doubled with each up to a minute; 0 = 1 s
	// Open opens a session; End ends it, and returns when nothing is left of it. The session may end by
	// itself until a time; zero = as long as End allows.
	Open func(ctx context.Context) (S, error)
	End  func(S, time.Time)
	// Group ends it with others; nil = it is alone.
	Group *Group
	// Final reports that nothing is opened again after an error.
	Final func(error) bool
	// Later reports that the other side is well and takes no session now, and when it may be asked again
	// (0 = it does not say). That is no failure. nil = it always takes one.
	Later func(error) (after time.Duration, later bool)
	// Failed is told of each failure, and why nothing is opened again; off "" = another session may
	// be. nil = nobody is.
	Failed func(off string)
}

// Keeper keeps one session, which all callers share. It opens it with the first call, and
// again after a failure and a pause.
//
// It is an interface: a package compiles every method of each generic type in the fields of the types that it names, and
// the tools of a scene are named everywhere.
type Keeper[S comparable] interface {
	// Session gives the open session, or opens one. Callers wait for one and the same.
	Session(ctx context.Context) (open S, failed *tools.Result)
	// Answered notes that a session has answered a call.
	Answered(open S)
	// Silent notes a call whose time was over.
	Silent(open S)
	// Broken notes that a session has ended, and why.
	Broken(open S, err error)
	// Gone notes that the other side has no such session any more. That is no failure: the next call opens another one.
	Gone(open S)
	// Close ends the session; it returns when nothing is left.
	Close()
	// Skip lets the next call open a session at once, for tests.
	Skip()
}

type keeper[S comparable] struct {
	of Of[S]

	mu      sync.Mutex // guards the following fields
	open    S
	isOpen  bool
	opening *opening
	failing int           // sessions that failed in a row
	next    time.Time     // no session is opened before
	rest    time.Duration // from the failure until then
	off     string        // why it is off for the rest of the scene
	last    error         // why the last session failed, or was not taken
	refused int           // sessions that were not taken in a row
	quiet   int           // calls without an answer in a row, of the open session
	closing bool
	ending  sync.WaitGroup // sessions that are being ended
}

// opening is a session that is not ready yet.
type opening struct {
	done chan struct{}
	stop context.CancelFunc
}

// Keep makes a keeper. It opens nothing. You must call Close.
func Keep[S comparable](of Of[S]) Keeper[S] {
	if of.Group == nil {
		of.Group = &Group{}
	}
	s := &keeper[S]{of: of}
	of.Group.add(s)
	return s
}

func (s *keeper[S]) Session(ctx context.Context) (open S, failed *tools.Result) {
	for {
		s.mu.Lock()
		var wait *opening
		open, wait, failed = s.state()
		s.mu.Unlock()
		if wait == nil {
			return open, failed
		}
		select {
		case <-wait.done:
		case <-ctx.Done():
			r := tools.Fail(protocol.KindCancelled, s.of.Name+" is not ready yet")
			return open, &r
		}
	}
}

// state is the open session, or what to wait for, or why there is none.
func (s *keeper[S]) state() (none S, wait *opening, failed *tools.Result) {
	switch pause := time.Until(s.next); {
	case s.isOpen:
		return s.open, nil, nil
	case s.closing:
		r := tools.Fail(protocol.KindCancelled, "the scene has ended")
		return none, nil, &r
	case s.off != "":
		r := tools.Fail(protocol.KindUnknown, fmt.Sprintf("%s is off: %s", s.of.Name, s.off))
		return none, nil, &r
	case s.opening != nil:
		return none, s.opening, nil
	case pause > 0:
		did := "failed and starts again after"
		if s.refused > 0 {
			did = "takes no session, and is asked again after"
		}
		kind := protocol.KindTransient
		if protocol.KindOf(s.last) == protocol.KindDenied {
			kind = protocol.KindDenied
		}
		r := tools.Fail(kind, fmt.Sprintf("%s %s %s: %s", s.of.Name, did, s.rest, s.last)) // not what is left of it: a fact may have the text
		r.Error.RetryAfter = protocol.Duration(pause)
		return none, nil, &r
	}
	ctx, stop := context.WithTimeout(context.Background(), s.of.Start)
	o := &opening{make(chan struct{}), stop}
	s.opening = o
	s.ending.Go(func() {
		defer stop()
		made, err := s.of.Open(ctx)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("it was not ready within %s: %w", s.of.Start, err)
		}
		s.opened(o, made, err)
	})
	return none, o, nil
}

// opened notes what came of an opening.
func (s *keeper[S]) opened(o *opening, made S, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening, s.quiet = nil, 0
	close(o.done)
	switch {
	case err != nil:
		s.closed(err)
	case s.closing:
		s.end(made, time.Time{})
	default:
		s.open, s.isOpen, s.refused = made, true, 0
		s.of.Group.add(s)
	}
}

// closed notes a session that could not be opened.
func (s *keeper[S]) closed(err error) {
	if s.of.Later != nil {
		if after, later := s.of.Later(err); later {
			s.last, s.refused = err, s.refused+1
			s.wait(s.pause(after, s.refused))
			return
		}
	}
	s.fail(err)
}

// pause is how long no session is opened after so many in a row were none; 0 = nobody said it.
func (s *keeper[S]) pause(said time.Duration, times int) time.Duration {
	return min(cmp.Or(said, cmp.Or(s.of.Pause, firstPause)<<min(times-1, 10)), maxPause)
}

func (s *keeper[S]) wait(rest time.Duration) { s.next, s.rest = time.Now().Add(rest), rest }

// fail notes a session that failed.
func (s *keeper[S]) fail(err error) {
	s.failing, s.last, s.refused = s.failing+1, err, 0
	s.wait(s.pause(0, s.failing))
	switch {
	case s.of.Final(err):
		s.off = err.Error()
	case s.failing >= maxStarts:
		s.off = fmt.Sprintf("it failed %d times in a row; the last time: %s", s.failing, err)
	}
	if s.of.Failed != nil {
		s.of.Failed(s.off)
	}
}

func (s *keeper[S]) Answered(open S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOpen && s.open == open {
		s.failing, s.quiet = 0, 0
	}
}

func (s *keeper[S]) Silent(open S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isOpen || s.open != open {
		return
	}
	if s.quiet++; s.quiet >= maxSilent {
		s.drop(open, fmt.Errorf("it left %d calls in a row without an answer", s.quiet))
	}
}

func (s *keeper[S]) Broken(open S, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOpen && s.open == open {
		s.drop(open, err)
	}
}

func (s *keeper[S]) Gone(open S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOpen && s.open == open {
		s.isOpen = false
		s.end(open, time.Time{})
	}
}

func (s *keeper[S]) drop(open S, err error) {
	s.isOpen = false
	s.fail(err)
	s.end(open, time.Time{})
}

// end ends a session beside the caller; close waits for it.
func (s *keeper[S]) end(open S, until time.Time) { s.ending.Go(func() { s.of.End(open, until) }) }

func (s *keeper[S]) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isOpen || s.opening != nil
}

func (s *keeper[S]) Close() { s.endUntil(time.Time{}) }

func (s *keeper[S]) endUntil(until time.Time) {
	s.mu.Lock()
	s.closing = true
	if s.opening != nil {
		s.opening.stop()
	}
	if s.isOpen {
		s.end(s.open, until)
		s.isOpen = false
	}
	s.mu.Unlock()
	s.ending.Wait()
}

func (s *keeper[S]) Skip() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = time.Time{}
}
