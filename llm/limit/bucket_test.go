package limit_test

import (
	"slices"
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// bucket is an endpoint that takes so many requests a second, and a few at once.
type bucket struct {
	rate, burst float64 // requests a second; at once

	left float64
	at   time.Duration
}

func (b *bucket) takes(now time.Duration) bool {
	b.left, b.at = min(b.burst, b.left+(now-b.at).Seconds()*b.rate), now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// lost is how many turns of 200 agents in 3 waves fail for good at a full endpoint, and how long the waves take. It refuses after 20 ms, with
// a Retry-After or 0, and answers after 100 ms.
func lost(t *testing.T, seed uint64, o limit.Options, hint time.Duration) (turns int, took time.Duration) {
	const agents, waves = 200, 3
	var now time.Duration
	var out []coming // by their times
	m, chance := limit.New("cloud", o), protocol.NewDraw(seed)
	full := bucket{rate: 40, burst: 10, left: 10}
	take := func() {
		for _, x := range m.Take() {
			if x.Refused != nil {
				t.Fatal(x.Refused)
			}
			at, end := now+100*time.Millisecond, limit.End{Outcome: llm.OutcomeOK}
			if !full.takes(now) {
				at, end = now+20*time.Millisecond, limit.End{Outcome: llm.OutcomeRateLimited, RetryAfter: hint}
			}
			i := len(out)
			for i > 0 && out[i-1].at > at {
				i--
			}
			out = slices.Insert(out, i, coming{at, x.Call, end})
		}
	}
	for wave := range waves {
		for n := range agents {
			m.Arrive(now, &limit.Call{Deadline: now + time.Hour, Draw: chance.Sub(uint64(wave), uint64(n))})
			take()
		}
		for ended := 0; ended < agents; {
			if next, ok := m.Next(); ok && (len(out) == 0 || next < out[0].at) {
				now = next
				m.Wake(now)
				take()
				continue
			}
			c := out[0]
			out, now = out[1:], c.at
			again := m.End(now, c.call, c.end)
			take()
			if !again {
				ended++
			}
			if !again && c.end.Outcome != llm.OutcomeOK {
				turns++
			}
		}
	}
	return turns, now
}

// An endpoint that is full, and a gate that learns nothing and knows no rates, as that of an endpoint without a preset. The
// pauses are all that spreads the requests: as few turns are lost as with pauses that double after each refusal.
func TestFullEndpoint(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     limit.Options
		hint  time.Duration
		turns int // lost at most, of 1800: about 140 are with pauses that double each time, 212 and 253 with pauses that do not
	}{
		{"64 at once", limit.Options{Concurrency: 64, Fixed: true}, 0, 170},
		{"all at once", limit.Options{Concurrency: 1000, Fixed: true}, 0, 190},
		{"learns", limit.Options{Concurrency: 64}, 0, 0},
		{"all at once, says when", limit.Options{Concurrency: 1000, Fixed: true}, time.Second, 3},
	} {
		turns := 0
		for seed := uint64(7); seed <= 9; seed++ {
			n, took := lost(t, seed, c.o, c.hint)
			t.Logf("%s: %d of 600 turns are lost, in %s", c.name, n, took)
			if turns += n; took > time.Minute {
				t.Errorf("%s: three waves take %s", c.name, took)
			}
		}
		if turns > c.turns {
			t.Errorf("%s: %d of 1800 turns are lost; want at most %d", c.name, turns, c.turns)
		}
	}
}
