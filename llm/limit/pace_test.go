package limit_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// departures are the times at which calls leave that come at given times and take a second, and what each takes of a rate.
func departures(o limit.Options, arrivals []time.Duration, tokens int64) (left []time.Duration) {
	m := limit.New("cloud", o)
	var out []*limit.Call
	var ends []time.Duration
	now := time.Duration(0)
	for i := 0; i < len(arrivals) || m.Load().Waiting != [4]int{}; {
		next, wakes := m.Next()
		at := time.Duration(math.MaxInt64)
		if wakes {
			at = next
		}
		if len(out) > 0 {
			at = min(at, ends[0])
		}
		switch {
		case i < len(arrivals) && arrivals[i] <= at:
			now = max(now, arrivals[i])
			m.Arrive(now, &limit.Call{Deadline: forever, Tokens: tokens, Draw: protocol.NewDraw(uint64(i))})
			i++
		case len(out) > 0 && ends[0] <= at:
			now = max(now, ends[0])
			m.End(now, out[0], limit.End{Outcome: llm.OutcomeOK})
			out, ends = out[1:], ends[1:]
		default:
			now = max(now, at)
			m.Wake(now)
		}
		for _, x := range m.Take() {
			if x.Refused == nil {
				out, ends, left = append(out, x.Call), append(ends, now+time.Second), append(left, now)
			}
		}
	}
	return left
}

// busiest is the most that any minute has of what came at given times.
func busiest(at []time.Duration) (most int) {
	first := 0
	for i := range at {
		for at[first] <= at[i]-time.Minute {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// A tenth of a rate leaves at once, the rest at an even pace: while calls wait, none of them waits long for its
// turn, and a minute that a server counts a little later than they left has no more than the rate. They used the
// rate up in 54 s, and after a silent gap of 6 s another tenth left at once: the server counted 331 of 300.
func TestEvenPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(5, 400).Draw(t, "rate")
		o, tokens := limit.Options{Requests: rate, Concurrency: 10_000, Fixed: true}, int64(0)
		if rapid.Bool().Draw(t, "tokens") {
			tokens = rapid.Int64Range(1, 1000).Draw(t, "each")
			o.Requests, o.Tokens = 0, rate*tokens
		}
		left := departures(o, make([]time.Duration, 4*rate), tokens)
		tenth, pace := int(rate/10), time.Duration(float64(time.Minute)/float64(rate))
		for i := 1; i < len(left); i++ {
			gap := left[i] - left[i-1]
			if i > tenth+2 && (gap > pace*3/2 || gap < pace/2) {
				t.Fatalf("call %d leaves at %s, %s after the last; the pace is %s", i, left[i], gap, pace)
			}
		}
		if left[tenth/2] > 0 || left[tenth+2] == 0 {
			t.Fatalf("not a tenth of %d leaves at once: %v", rate, left[:tenth+3])
		}
		if end := left[len(left)-1]; end > 4*time.Minute {
			t.Fatalf("four minutes of calls leave in %s", end)
		}
		late := make([]time.Duration, len(left))
		for i := range left {
			late[i] = left[i] + time.Duration(float64(300*time.Millisecond)*math.Abs(math.Sin(float64(i))))
			late[i] = max(late[i], late[max(i-1, 0)])
		}
		if n := busiest(late); n > int(rate)+int(rate)/100+2 || busiest(left) > int(rate) {
			t.Fatalf("the server counts %d in a minute, and %d left; the rate is %d", n, busiest(left), rate)
		}
	})
}

// Whenever calls come, no minute has more than the rate, and no moment more than a tenth and one.
func TestEvenPaceOfBursts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(5, 100).Draw(t, "rate")
		var arrivals []time.Duration
		at := time.Duration(0)
		for range rapid.IntRange(1, 10).Draw(t, "bursts") {
			at += time.Duration(rapid.IntRange(0, 90).Draw(t, "pause")) * time.Second
			for range rapid.IntRange(1, 150).Draw(t, "calls") {
				arrivals = append(arrivals, at)
			}
		}
		left := departures(limit.Options{Requests: rate, Concurrency: 10_000, Fixed: true}, arrivals, 0)
		if n := busiest(left); n > int(rate) {
			t.Fatalf("%d in a minute; the rate is %d", n, rate)
		}
		same := 1
		for i := 1; i < len(left); i++ {
			if same++; left[i] != left[i-1] {
				same = 1
			}
			if same > int(rate/10)+1 {
				t.Fatalf("%d leave at %s; the rate is %d", same, left[i], rate)
			}
		}
	})
}
