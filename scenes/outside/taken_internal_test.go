package outside

import (
	"errors"
	"testing"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// A wave of the log takes so many facts that wait, the others wait on.
func TestAWaveOfTheLogIsBounded(t *testing.T) {
	for _, waits := range []int{0, 1, maxBatch, maxBatch + 1} {
		l := &Log{queue: make([]*Flight, waits)}
		if n := len(l.take()); n != min(waits, maxBatch) || len(l.queue) != waits-n {
			t.Errorf("of %d it takes %d, and %d wait on", waits, n, len(l.queue))
		}
	}
}

// The place of a request is that of its question, at its time if chance is drawn by it.
func TestWhoseAPlaceIs(t *testing.T) {
	for name, c := range map[string]struct {
		p    place
		at   protocol.Time
		want bool
	}{
		"the same":           {place{question: Hash([]byte("q")), at: 5}, 5, true},
		"at another time":    {place{question: Hash([]byte("q")), at: 5}, 6, true},
		"timed":              {place{question: Hash([]byte("q")), at: 5, timed: true}, 5, true},
		"timed, and another": {place{question: Hash([]byte("q")), at: 5, timed: true}, 6, false},
		"another question":   {place{question: Hash([]byte("r")), at: 5}, 5, false},
	} {
		if got := c.p.same(&Effect{Question: Hash([]byte("q")), At: c.at}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The answer of a failed request takes the simulated time of its failure, unless it has one.
func TestAFailureTakesItsTime(t *testing.T) {
	failed := &llm.Failure{Latency: 3 * time.Second}
	for name, c := range map[string]struct {
		err       error
		has, want time.Duration
	}{"it failed": {failed, 0, 3 * time.Second}, "it has a time": {failed, time.Second, time.Second}, "another failure": {errors.New("no"), 0, 0}, "it did not fail": {nil, 0, 0}} {
		x := effect.Answered{Err: c.err}
		x.Model.Latency = c.has
		if tookTime(&x); x.Model.Latency != c.want {
			t.Errorf("%s: %s, want %s", name, x.Model.Latency, c.want)
		}
	}
}
