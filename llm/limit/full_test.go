package limit_test

import (
	"slices"
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// bare is an endpoint that refuses without saying when to come again: by chance, what is more than it takes in a second, or
// what is more than it has places.
type bare struct {
	chance  float64
	second  float64 // requests; 0 = no limit
	places  int     // 0 = no limit
	answers time.Duration

	level float64 // of what may be taken at once: a second's
	at    time.Duration
	out   int
}

func (b *bare) refuses(now time.Duration, d float64) bool {
	if b.level, b.at = min(b.second, b.level+(now-b.at).Seconds()*b.second), now; d < b.chance {
		return true
	}
	if b.second > 0 && b.level < 1 || b.places > 0 && b.out >= b.places {
		return true
	}
	b.level--
	b.out++
	return false
}

// full lets agents ask an endpoint in waves. It gives the turns that are lost, the requests that were sent and how long it took.
func full(b bare, agents, waves int, o limit.Options, seed uint64) (lost, sent int, now time.Duration) {
	m, chance := limit.New("cloud", o), protocol.NewDraw(seed)
	var out []coming
	b.level = b.second
	take := func() {
		for _, x := range m.Take() {
			if x.Refused != nil {
				lost++
				continue
			}
			sent++
			d := chance.Sub(0, uint64(sent))
			at, end := now+10*time.Millisecond, limit.End{Outcome: llm.OutcomeRateLimited}
			if !b.refuses(now, d.Float64()) {
				at, end.Outcome = now+b.answers/2+time.Duration(d.Float64()*float64(b.answers)), llm.OutcomeOK
			}
			i, _ := slices.BinarySearchFunc(out, at, func(c coming, at time.Duration) int { return int(c.at - at) })
			out = slices.Insert(out, i, coming{at, x.Call, end})
		}
	}
	for wave := range waves {
		for n := range agents {
			m.Arrive(now, &limit.Call{Deadline: now + time.Hour, Draw: chance.Sub(1, uint64(wave), uint64(n))})
			take()
		}
		for ended := 0; ended < agents; {
			next, ok := m.Next()
			if len(out) == 0 || ok && next < out[0].at {
				now = next
				before := lost
				m.Wake(now)
				take()
				ended += lost - before
				continue
			}
			c := out[0]
			out, now = out[1:], c.at
			if c.end.Outcome == llm.OutcomeOK {
				b.out--
			}
			if again := m.End(now, c.call, c.end); !again {
				if ended++; c.end.Outcome != llm.OutcomeOK {
					lost++
				}
			}
			take()
		}
	}
	return lost, sent, now
}

// An endpoint that is full, or refuses by chance, and does not say when to come again: no turn is lost, whether the gate
// learns or not, and the endpoint gives about as many answers as it can. The ideal is the time of a wave if it did.
func TestFull(t *testing.T) {
	const half, waves = 500 * time.Millisecond, 3
	for _, c := range []struct {
		name   string
		bare   bare
		agents int
		ideal  time.Duration
		most   float64 // of the ideal
	}{
		{"20 %", bare{chance: 0.2, answers: half}, 200, 3 * time.Second, 1},
		{"50 %", bare{chance: 0.5, answers: half}, 200, 3 * time.Second, 10},
		{"40 a second", bare{second: 40, answers: half}, 200, 4 * time.Second, 1.3},
		{"40 a second, 20 %", bare{second: 40, chance: 0.2, answers: half}, 200, 4 * time.Second, 1.4},
		{"40 a second, many", bare{second: 40, answers: half}, 2000, 49 * time.Second, 1.05},
		{"10 a second", bare{second: 10, answers: 2 * time.Second}, 200, 19 * time.Second, 1.5},
		{"16 places", bare{places: 16, answers: half}, 200, 6250 * time.Millisecond, 1.25},
		{"16 places, slow", bare{places: 16, answers: 2 * time.Second}, 200, 25 * time.Second, 1.25},
		{"4 places", bare{places: 4, answers: half}, 200, 25 * time.Second, 1.15},
		{"1 place", bare{places: 1, answers: half}, 200, 100 * time.Second, 1.05},
	} {
		for _, fixed := range []bool{true, false} {
			for seed := range uint64(3) {
				lost, sent, took := full(c.bare, c.agents, waves, limit.Options{Concurrency: 64, Fixed: fixed}, seed+1)
				turns, wave := waves*c.agents, took/waves
				t.Logf("%s, fixed %v: %d of %d turns are lost, %.2f requests for each, a wave takes %.1fs", c.name, fixed, lost, turns, float64(sent)/float64(turns), wave.Seconds())
				if lost > 0 {
					t.Errorf("%s, fixed %v: %d of %d turns are lost", c.name, fixed, lost, turns)
				}
				if fixed && float64(wave) > c.most*float64(c.ideal) || sent > 3*turns {
					t.Errorf("%s, fixed %v: a wave takes %s, want at most %.2f times %s; %d requests for %d turns", c.name, fixed, wave, c.most, c.ideal, sent, turns)
				}
			}
		}
	}
}

// A call that is always refused ends: after 5 attempts, after 21 if the endpoint answers others each time, and in any case at
// its deadline. What it has answered before the call came, or before its last refusal, makes none free. A gate without repetitions
// repeats nothing.
func TestRefusedForGood(t *testing.T) {
	for _, c := range []struct {
		others   []int // attempts of the call before whose end the endpoint answers another one; 0 = before the call comes
		retries  int
		deadline time.Duration
		want     int
	}{
		{nil, 0, time.Hour, 5}, {upTo(100), 0, time.Hour, 21}, {[]int{0}, 0, time.Hour, 5}, {[]int{1}, 0, time.Hour, 6}, {[]int{0, 2, 4}, 0, time.Hour, 7},
		{upTo(100), -1, time.Hour, 1}, {upTo(100), 0, 2 * time.Second, 0},
	} {
		m, now := limit.New("cloud", limit.Options{Fixed: true, Retries: c.retries}), time.Duration(0)
		one := &limit.Call{Deadline: c.deadline, Draw: protocol.NewDraw(1)}
		other := func() {
			if slices.Contains(c.others, one.Attempts()) {
				m.Arrive(now, &limit.Call{Deadline: time.Hour})
				for _, x := range slices.Clone(m.Take()) {
					m.End(now, x.Call, limit.End{Outcome: llm.OutcomeOK})
				}
			}
		}
		other()
		m.Arrive(0, one)
		for again := true; again; {
			m.Take()
			now += time.Millisecond
			other()
			if again = m.End(now, one, limit.End{Outcome: llm.OutcomeRateLimited}); again {
				now, _ = m.Next()
				m.Wake(now)
			}
		}
		if n := one.Attempts(); n != c.want && c.want > 0 || now > c.deadline {
			t.Errorf("%+v: %d attempts until %s", c, n, now)
		}
	}
}

// upTo lists the numbers from 1 to n.
func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// A fixed gate that refusals have made narrower is soon as wide as the user has set.
func TestFixedGrowsAgain(t *testing.T) {
	m, now := limit.New("cloud", limit.Options{Concurrency: 1000, Fixed: true, Kept: -1}), time.Duration(0)
	for n := range 10_000 {
		m.Arrive(now, &limit.Call{Deadline: time.Hour, Draw: protocol.NewDraw(uint64(n))})
	}
	round := func(o llm.Outcome) int {
		now += time.Second
		m.Wake(now)
		for _, x := range slices.Clone(m.Take()) {
			m.End(now, x.Call, limit.End{Outcome: o})
		}
		return m.Width()
	}
	if n := round(llm.OutcomeTimeout); n != 1000 {
		t.Errorf("%d slots after time-outs", n)
	}
	now += time.Minute // the circuit is closed
	for range 4 {
		round(llm.OutcomeOK)
	}
	if n := round(llm.OutcomeRateLimited); n != 700 {
		t.Errorf("%d slots after refusals", n)
	}
	n := 0
	for range 4 {
		n = round(llm.OutcomeOK)
	}
	if n != 1000 {
		t.Errorf("%d slots after 4 rounds of answers", n)
	}
}
