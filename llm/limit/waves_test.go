package limit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// faults are those of an endpoint: the share of each, and how long an answer takes.
type faults struct {
	limited float64 // refused at once, with a Retry-After of 1 s
	lost    float64 // 0.3 s after the slowest answer
	broken  float64 // at once
	answers time.Duration
	bare    bool // refusals have no Retry-After
}

// waves lets agents ask in waves: all of them at one moment, the next time when the last of them has
// its answer. A request that failed for good is made again.
type waves struct {
	t      *testing.T
	m      *limit.Machine
	faults faults
	chance protocol.Draw
	now    time.Duration
	out    []coming // by their times
	sent   int
	opened bool // the circuit was open
}

type coming struct {
	at   time.Duration
	call *limit.Call
	end  limit.End
}

func (w *waves) ask() {
	w.m.Arrive(w.now, &limit.Call{Deadline: w.now + time.Hour, Draw: w.chance.Sub(uint64(w.sent))})
	w.take()
}

// take lets the endpoint decide about what left.
func (w *waves) take() {
	f := w.faults
	for _, x := range w.m.Take() {
		if x.Refused != nil {
			w.t.Fatal(x.Refused)
		}
		w.sent++
		d := w.chance.Sub(0, uint64(w.sent))
		at, end := w.now+f.answers/2+time.Duration(d.Float64()*float64(f.answers)), limit.End{Outcome: llm.OutcomeOK}
		switch p := d.Float64(); {
		case p < f.limited:
			at, end = w.now+10*time.Millisecond, limit.End{Outcome: llm.OutcomeRateLimited, RetryAfter: time.Second}
			if f.bare {
				end.RetryAfter = 0
			}
		case p < f.limited+f.lost:
			at, end.Outcome = w.now+2*f.answers+300*time.Millisecond, llm.OutcomeTimeout
		case p < f.limited+f.lost+f.broken:
			at, end.Outcome = w.now+10*time.Millisecond, llm.OutcomeTruncated
		}
		i, _ := slices.BinarySearchFunc(w.out, at, func(c coming, at time.Duration) int { return int(c.at - at) })
		w.out = slices.Insert(w.out, i, coming{at, x.Call, end})
	}
	why := w.m.Stalled(w.now).Why
	w.opened = w.opened || strings.Contains(why, "in a row")
}

// wave ends when all have their answers.
func (w *waves) wave(agents int) {
	for range agents {
		w.ask()
	}
	for answered := 0; answered < agents; {
		next, ok := w.m.Next()
		if len(w.out) == 0 || ok && next < w.out[0].at {
			if w.now = next; !ok {
				w.t.Fatalf("nothing more happens; %d of %d are answered", answered, agents)
			}
			w.m.Wake(w.now)
			w.take()
			continue
		}
		c := w.out[0]
		w.out, w.now = w.out[1:], c.at
		again := w.m.End(w.now, c.call, c.end)
		w.take()
		switch {
		case c.end.Outcome == llm.OutcomeOK:
			answered++
		case !again:
			w.ask()
		}
	}
}

// Agents who ask in waves, of an endpoint with faults by chance. The gate stays open: of
// calls that left together refusals end first and time-outs last, but neither is a row of failures. What
// the rates allow is used, where the agents ask for more than leaves while the last of them repeat.
func TestWaves(t *testing.T) {
	row := faults{limited: 0.2, lost: 0.05, broken: 0.05, answers: 20 * time.Millisecond}
	slow := row
	slow.answers = 2 * time.Second
	bare := row
	bare.bare = true
	for _, c := range []struct {
		name    string
		faults  faults
		agents  int
		minute  int64
		least   float64       // of what the rates allow; 0 = the rates are no bound
		longest time.Duration // on average, of a wave
		learns  bool
	}{
		{"more than the tails", row, 10_000, 12_000, 0.9, 0, false},
		{"more than the tails, learns", row, 10_000, 12_000, 0.9, 0, true},
		{"fewer a minute", row, 1000, 1200, 0.9, 0, false},
		{"slow answers", slow, 10_000, 12_000, 0.9, 0, false},
		{"slow answers, fewer a minute", slow, 1000, 1200, 0.9, 0, false},
		{"few refusals before slow answers", faults{limited: 0.01, answers: 2 * time.Second}, 1000, 12_000, 0.9, 0, false},
		{"failures before slow answers", faults{broken: 0.1, answers: 2 * time.Second}, 1000, 12_000, 0.9, 0, false},
		// The last agent of a thousand fails 5 times, with a Retry-After of 1 s and pauses of up to 0.5 s: about 6 s, as much of
		// the rates as is there after a pause.
		{"tails", row, 1000, 12_000, 0.9, 8 * time.Second, false},
		{"tails, learns", row, 1000, 12_000, 0.9, 8 * time.Second, true},
		{"tails and half a second", faults{limited: 0.2, lost: 0.05, broken: 0.05, answers: 500 * time.Millisecond}, 200, 2400, 0.9, 8 * time.Second, false},
		{"tails and slow answers", slow, 1000, 12_000, 0, 17 * time.Second, false},
		{"tails, refusals that say no time", bare, 1000, 12_000, 0.9, 8 * time.Second, false},
		{"tails, refusals that say no time, learns", bare, 1000, 12_000, 0.9, 8 * time.Second, true},
		{"a small wave, refusals that say no time", bare, 200, 12_000, 0, 6 * time.Second, false},
		{"a small wave", row, 200, 12_000, 0, 6 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			const turns = 6
			o := limit.Options{Requests: c.minute, Concurrency: 1000, Fixed: !c.learns}
			w := waves{t: t, m: limit.New("cloud", o), faults: c.faults, chance: protocol.NewDraw(7)}
			for range turns {
				w.wave(c.agents)
			}
			used := float64(w.sent) / (w.now.Minutes() * float64(c.minute))
			t.Logf("%d requests for %d answers in %.1fs, %.0f %% of the rates", w.sent, turns*c.agents, w.now.Seconds(), 100*used)
			if used < c.least {
				t.Errorf("%.0f %% of what the rates allow is used; want %.0f %%", 100*used, 100*c.least)
			}
			if c.longest > 0 && w.now > turns*c.longest {
				t.Errorf("a wave takes %s; want at most %s", w.now/turns, c.longest)
			}
			if w.opened {
				t.Error("the circuit was open, although the endpoint answers")
			}
		})
	}
}

// An endpoint that fails opens the circuit, however many calls are out: at once if it is
// not there, and when a quarter of what is out has failed if the rest hangs.
func TestFailedWave(t *testing.T) {
	for _, before := range []bool{false, true} {
		m := limit.New("cloud", limit.Options{Concurrency: 1000, Fixed: true, Kept: -1})
		if before { // it answered until now
			m.Arrive(0, &limit.Call{Deadline: time.Hour})
			m.End(time.Second, m.Take()[0].Call, limit.End{Outcome: llm.OutcomeOK})
		}
		now := 2 * time.Second
		for n := range 1000 {
			m.Arrive(now, &limit.Call{Deadline: time.Hour, Draw: protocol.NewDraw(uint64(n))})
		}
		failed := 0
		for _, x := range slices.Clone(m.Take()) {
			if why := m.Stalled(now).Why; why != "" {
				break
			}
			now += time.Millisecond
			m.End(now, x.Call, limit.End{Outcome: llm.OutcomeServerError})
			failed++
		}
		if failed < 100 || failed > 250 {
			t.Errorf("answered before %v: the circuit opens after %d failures of 1000", before, failed)
		}
	}
	m := limit.New("cloud", limit.Options{Concurrency: 1000, Fixed: true, Kept: -1})
	for n := range 5 {
		m.Arrive(0, &limit.Call{Deadline: time.Hour})
		if why := m.Stalled(0).Why; why != "" {
			t.Fatalf("the circuit opens after %d failures", n)
		}
		m.End(0, m.Take()[0].Call, limit.End{Outcome: llm.OutcomeServerError})
	}
	if why := m.Stalled(0).Why; why == "" {
		t.Error("5 failures in a row, and nothing is out: the circuit is not open")
	}
}
