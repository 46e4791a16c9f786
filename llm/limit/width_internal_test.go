package limit

import (
	"testing"
	"time"

	"tavernsim/llm"
)

// The width is read for each call that leaves: it looks at none of those that wait.
func TestWidthLooksAtNoCall(t *testing.T) {
	m := New("cloud", Options{Concurrency: 2, Fixed: true})
	m.timers = make(timers, 50_000) // to look at one of them is to panic
	if n := m.Width(); n != 2 {
		t.Errorf("width %d", n)
	}
}

// While the gate opens again fewer calls may be out than the endpoint has places.
func TestWidthWhileTheGateOpens(t *testing.T) {
	m := New("cloud", Options{Concurrency: 4, Fixed: true})
	c := &Call{Deadline: time.Hour}
	m.Arrive(0, c)
	m.End(0, c, End{Outcome: llm.OutcomeRateLimited, RetryAfter: time.Second})
	if l := m.Load(); l.Limit != 1 || m.Width() != 4 {
		t.Errorf("%d may be out, width %d; want 1 and 4", l.Limit, m.Width())
	}
}
