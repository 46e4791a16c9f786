//go:build linux

package alarm

import (
	"runtime"
	"sync"
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
	soon()
	soon()
	look("one is gone", 1)
	now := a.Set(0)
	for n := 2; n > 1; runtime.Gosched() { // until it has fired
		a.mu.Lock()
		n = len(a.at)
		a.mu.Unlock()
	}
	now()
	look("one has come", 1)
	late()
	look("all are gone", 0)
	a.Set(time.Hour)()
	look("again", 0)
	var none *Alarm
	none.Set(time.Hour)()
}

// Promise 1, as far as a busy machine shows it: many wait at once, nobody hears before the time, and all hear.
func TestTimersFire(t *testing.T) {
	a := &Alarm{}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			d := time.Duration(1+i%20) * time.Millisecond
			timer := time.NewTimer(d)
			began := time.Now()
			defer a.Set(d)()
			<-timer.C
			if late := time.Since(began) - d; late < -time.Millisecond {
				t.Errorf("%s fired %s early", d, -late)
			}
		})
	}
	all.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.at) > 0 || a.file != nil {
		t.Errorf("%d are waited for, and nobody waits", len(a.at))
	}
}
