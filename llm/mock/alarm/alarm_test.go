//go:build linux

package alarm

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// Promise 2. An alarm has a timer as long as somebody waits, whoever comes and goes in whatever order.
func TestAlarm(t *testing.T) {
	a := &Alarm{}
	look := func(what string, n int) {
		t.Helper()
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.at) != n || (a.file != nil) != (n > 0) {
			t.Errorf("%s: %d wait, with a timer: %t; want %d", what, len(a.at), a.file != nil, n)
		}
	}
	look("new", 0)
	late := a.Set(2 * time.Hour)
	soon := a.Set(time.Hour)
	look("two", 2)
	a.End(soon)
	a.End(soon)
	look("one is gone", 1)
	now := a.Set(0)
	for n := 2; n > 1; runtime.Gosched() { // until it has fired
		a.mu.Lock()
		n = len(a.at)
		a.mu.Unlock()
	}
	a.End(now)
	look("one has come", 1)
	a.End(late)
	look("all are gone", 0)
	a.End(a.Set(time.Hour))
	look("again", 0)
	var none *Alarm
	none.End(none.Set(time.Hour))
}

// Moments are taken back in any order, and those that are left are in order.
func TestEndInAnyOrder(t *testing.T) {
	a := &Alarm{}
	var set []*Moment
	for range 500 {
		set = append(set, a.Set(time.Hour+time.Duration(rand.IntN(1000))*time.Second))
	}
	rand.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
	for i, at := range set {
		a.End(at)
		a.mu.Lock()
		if len(a.at) != len(set)-i-1 || slices.Contains(a.at, at) || at.place != -1 {
			t.Errorf("%d wait after %d were taken back; the last is at place %d", len(a.at), i+1, at.place)
		}
		for place, at := range a.at {
			if at.place != place || a.at.Less(place, (place-1)/2) {
				t.Errorf("place %d is taken for %d, or its moment is before the one above", place, at.place)
			}
		}
		a.mu.Unlock()
	}
	if a.file != nil {
		t.Error("a timer is left")
	}
}

// To take one of 10,000 moments back costs as little as to set it.
func BenchmarkEnd(b *testing.B) {
	a := &Alarm{}
	for range 10_000 {
		defer a.End(a.Set(time.Hour + time.Duration(rand.IntN(1e9))))
	}
	for b.Loop() {
		a.End(a.Set(time.Hour + time.Duration(rand.IntN(1e9))))
	}
}

// Promise 1, as far as a busy machine shows it: the timer of the system fires for all of them, none before its time, and with
// the last the alarm is at rest. Nobody takes a moment back here, so nothing but the timer empties the list.
func TestTimersFire(t *testing.T) {
	a := &Alarm{}
	began := time.Now()
	var last time.Duration
	for i := range 200 {
		last = max(last, time.Duration(1+i%20)*time.Millisecond)
		a.Set(time.Duration(1+i%20) * time.Millisecond)
	}
	for waits := true; waits; runtime.Gosched() {
		a.mu.Lock()
		waits = a.file != nil
		a.mu.Unlock()
	}
	if took := time.Since(began); took < last {
		t.Errorf("the last of them, after %s, fired after %s", last, took)
	}
	if len(a.at) > 0 {
		t.Errorf("%d are waited for, and no timer is left", len(a.at))
	}
}
