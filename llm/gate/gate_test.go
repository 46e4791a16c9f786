package gate_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// asker is a caller whose attempts take a while and end as ends says.
type asker struct {
	limit.Call
	gate    *gate.Gate
	takes   time.Duration
	ends    func(attempt int) limit.End
	out     *atomic.Int64
	most    *atomic.Int64
	settled chan error // one element
}

// Released implements gate.Caller.
func (a *asker) Released(limit.Class) { go a.attempt() }

func (a *asker) attempt() {
	if n := a.out.Add(1); n > a.most.Load() {
		a.most.Store(n)
	}
	<-time.After(a.takes)
	a.out.Add(-1)
	if e := a.ends(a.Attempts()); !a.gate.End(&a.Call, e) {
		if e.Outcome != llm.OutcomeOK {
			a.settled <- &llm.Failure{Outcome: e.Outcome}
			return
		}
		a.settled <- nil
	}
}

// Refused implements gate.Caller.
func (a *asker) Refused(err error) { a.settled <- err }

func good(int) limit.End { return limit.End{Outcome: llm.OutcomeOK} }

type askers struct {
	gate      *gate.Gate
	out, most atomic.Int64
	all       []*asker
}

func (s *askers) enter(takes, patience time.Duration, ends func(int) limit.End) *asker {
	a := &asker{gate: s.gate, takes: takes, ends: ends, out: &s.out, most: &s.most, settled: make(chan error, 2)}
	a.Owner, a.Draw = a, protocol.NewDraw(uint64(len(s.all)))
	s.all = append(s.all, a)
	s.gate.Enter(&a.Call, 0, patience)
	return a
}

// Promises 1 and 2: every call is released or refused, once, and no more than the gate
// is wide are out; what waits longer than its patience is refused.
func TestEveryCallSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &askers{gate: gate.New("cloud", limit.Options{Concurrency: 4, Fixed: true, Kept: -1})}
		for range 40 {
			s.enter(time.Second, 5500*time.Millisecond, good)
		}
		if l := s.gate.Load(); l.Out != 4 || l.Waiting[2] != 36 {
			t.Errorf("%+v", l)
		}
		<-time.After(time.Minute)
		late := 0
		for _, a := range s.all {
			if err := <-a.settled; llm.OutcomeOf(err) == llm.OutcomeTimeout {
				late++
			} else if err != nil {
				t.Error(err)
			}
			if len(a.settled) > 0 {
				t.Error("a call ended twice")
			}
		}
		if late != 40-6*4 || s.most.Load() != 4 {
			t.Errorf("%d were late, %d at once; want 16 and 4", late, s.most.Load())
		}
		if l := s.gate.Load(); l != (limit.Load{Limit: 4}) {
			t.Errorf("%+v", l)
		}
	})
}

// Promise 2, rates: the timer alone lets out what the rate held back.
func TestTheTimerReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &askers{gate: gate.New("cloud", limit.Options{Requests: 60, Concurrency: 100, Fixed: true})}
		begun := time.Now()
		for range 61 {
			s.enter(0, time.Hour, good)
		}
		for _, a := range s.all {
			if err := <-a.settled; err != nil {
				t.Error(err)
			}
		}
		if d := time.Since(begun); d < time.Minute || d > time.Minute+100*time.Millisecond {
			t.Errorf("61 calls at 60 a minute took %s", d)
		}
	})
}

// Promise 3: a call that is to be sent again is released again, after a pause of its own;
// one that was taken back while it pauses is not.
func TestSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &askers{gate: gate.New("cloud", limit.Options{})}
		bad := func(attempt int) limit.End {
			if attempt < 4 {
				return limit.End{Outcome: llm.OutcomeServerError}
			}
			return good(0)
		}
		a := s.enter(0, time.Hour, bad)
		if err := <-a.settled; err != nil || a.Attempts() != 4 {
			t.Error(err, a.Attempts())
		}
		never := func(int) limit.End {
			return limit.End{Outcome: llm.OutcomeRateLimited, RetryAfter: time.Minute}
		}
		a = s.enter(0, time.Hour, never)
		synctest.Wait()
		if !s.gate.Leave(&a.Call) || s.gate.Leave(&a.Call) {
			t.Error("it was taken back once, while it paused")
		}
		<-time.After(time.Hour)
		if len(a.settled) > 0 || a.Attempts() != 1 {
			t.Errorf("%d attempts after it was taken back", a.Attempts())
		}
	})
}

// Hints reach the machine with the time at which the request was sent, and a closed
// endpoint opens again.
func TestHintsAndReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &askers{gate: gate.New("cloud", limit.Options{})}
		sent := time.Now()
		s.gate.Hint(sent, limit.Hints{Requests: limit.Left{Known: true, Limit: 10, Reset: 10 * time.Second}})
		a := s.enter(0, time.Hour, func(int) limit.End { return limit.End{Outcome: llm.OutcomeAuth} })
		if err := <-a.settled; llm.OutcomeOf(err) != llm.OutcomeAuth || time.Since(sent) != time.Second {
			t.Errorf("after %s: %v", time.Since(sent), err)
		}
		if err := <-s.enter(0, time.Hour, good).settled; llm.OutcomeOf(err) != llm.OutcomeAuth {
			t.Error(err)
		}
		s.gate.Reopen()
		if err := <-s.enter(0, time.Hour, good).settled; err != nil {
			t.Error(err)
		}
	})
}

// Calls of many goroutines.
func TestConcurrent(t *testing.T) {
	s := gate.New("local", limit.Options{Concurrency: 16, Fixed: true})
	var out, most atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				a := &asker{gate: s, ends: good, out: &out, most: &most, settled: make(chan error, 1)}
				a.Owner, a.Scene = a, fmt.Sprint(i)
				s.Enter(&a.Call, 0, time.Minute)
				if i%2 == 0 {
					s.Raise(&a.Call, limit.Urgent)
				}
				if err := <-a.settled; err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if l := s.Load(); most.Load() > 16 || l.Out != 0 {
		t.Errorf("%d at once, %+v", most.Load(), l)
	}
}
