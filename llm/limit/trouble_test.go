package limit_test

import (
	"slices"
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// An endpoint that refuses every fourth call, however many are out: the gate becomes wide
// nevertheless and is not shut. When it refuses two of three, it becomes narrow.
func TestChanceIsNoLoad(t *testing.T) {
	m := limit.New("cloud", limit.Options{Retries: -1})
	now, d := time.Duration(0), protocol.NewDraw(1)
	var out []*limit.Call
	for range 10_000 {
		m.Arrive(now, &limit.Call{Deadline: now + time.Hour})
	}
	ends := func(n int, refused float64) {
		for range n {
			now += 10 * time.Millisecond
			m.Wake(now)
			for _, x := range m.Take() {
				out = append(out, x.Call)
			}
			if len(out) == 0 {
				continue
			}
			e := limit.End{Outcome: llm.OutcomeOK}
			if d.Float64() < refused {
				e = limit.End{Outcome: llm.OutcomeRateLimited, RetryAfter: 50 * time.Millisecond}
			}
			m.End(now, out[0], e)
			out = out[1:]
		}
	}
	ends(4000, 0.25)
	if l := m.Load(); l.Limit < 24 {
		t.Errorf("a quarter is refused by chance: %+v", l)
	}
	ends(1000, 0.67)
	if l := m.Load(); l.Limit > 4 {
		t.Errorf("two of three are refused: %+v", l)
	}
}

// Full jitter: a thousand calls that failed at one moment come back one by one, and at
// the same times when the run is repeated.
func TestNotInStep(t *testing.T) {
	back := func() (at []time.Duration) {
		m := limit.New("cloud", limit.Options{Concurrency: 10_000, Fixed: true})
		for n := range 1000 {
			m.Arrive(0, &limit.Call{Deadline: time.Hour, Draw: protocol.NewDraw(1, uint64(n))})
		}
		for _, x := range slices.Clone(m.Take()) {
			m.End(0, x.Call, limit.End{Outcome: llm.OutcomeRateLimited})
		}
		for next, ok := m.Next(); ok; next, ok = m.Next() {
			m.Wake(next)
			for range m.Take() {
				at = append(at, next)
			}
		}
		return at
	}
	at := back()
	moments := map[time.Duration]int{}
	for _, d := range at {
		moments[d.Truncate(10*time.Millisecond)]++
	}
	for moment, n := range moments {
		if n > 50 || n == 0 {
			t.Errorf("%d calls come back at %s", n, moment)
		}
	}
	if len(at) != 1000 || at[999] > 500*time.Millisecond || !slices.Equal(at, back()) {
		t.Errorf("%d calls, the last at %s; or another time at others", len(at), at[len(at)-1])
	}
}

// The pauses before a call is sent again grow where an endpoint refuses more than usual, where too little has ended to know what
// is usual, and where it does not say when to come again; not where it refuses a share of all calls, whatever is sent, and says when.
func TestPausesGrowByLoadAlone(t *testing.T) {
	longest := func(before, from int, refused float64, hint time.Duration) (longest time.Duration) {
		m := limit.New("cloud", limit.Options{Fixed: true, Concurrency: 1000})
		now, d := time.Duration(0), protocol.NewDraw(3)
		for range before {
			m.Arrive(now, &limit.Call{Deadline: now + time.Hour})
			m.End(now, m.Take()[0].Call, limit.End{Outcome: llm.OutcomeOK})
		}
		ended := map[*limit.Call]time.Duration{}
		for n := range 1000 {
			m.Arrive(now, &limit.Call{Deadline: now + time.Hour, Draw: d.Sub(uint64(n))})
			for more := true; more; {
				for _, x := range slices.Clone(m.Take()) {
					if at, again := ended[x.Call]; again && n >= from {
						longest = max(longest, now-at)
					}
					e := limit.End{Outcome: llm.OutcomeOK}
					if d.Float64() < refused {
						e = limit.End{Outcome: llm.OutcomeRateLimited, RetryAfter: hint}
					}
					ended[x.Call] = now
					m.End(now, x.Call, e)
				}
				var next time.Duration
				if next, more = m.Next(); more {
					now = next
					m.Wake(now)
				}
			}
		}
		return longest
	}
	const hint = 100 * time.Millisecond
	if d := longest(200, 0, 1, hint); d < 3*time.Second {
		t.Errorf("an endpoint that refuses everything now is asked again after %s at most; want about 4s", d)
	}
	if d := longest(0, 0, 1, hint); d < 3*time.Second {
		t.Errorf("an endpoint that refuses everything is asked again after %s at most; want about 4s", d)
	}
	if d := longest(0, 200, 0.3, 0); d < 2*time.Second {
		t.Errorf("an endpoint that always refuses 30 %% and says no time is asked again after %s at most; want about 4s", d)
	}
	if d := longest(0, 200, 0.3, hint); d > hint+time.Second/2 {
		t.Errorf("an endpoint that always refuses 30 %% and says when to come again is asked again after %s at most; want half a second more", d)
	}
}
