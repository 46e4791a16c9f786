// Package timing measures the agents of a running scene: their state, the durations of their
// deliberations, and of the phases of some of these. Measurements are no facts.
package timing

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tavernsim/internal/metrics"
)

// Latency is how long deliberations took on the wall clock, 1 µs to 60 s with
// three digits.
type Latency struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

// NewLatency makes an empty histogram.
func NewLatency() *Latency {
	return &Latency{h: hdrhistogram.New(1, int64(60*time.Second/time.Microsecond), 3)}
}

// Record adds one; a nil histogram keeps none.
func (l *Latency) Record(d time.Duration) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.h.RecordValue(max(1, min(d.Microseconds(), l.h.HighestTrackableValue()))) // in range by construction
}

// Ended is a deliberation that has ended.
type Ended struct {
	Profile *metrics.Profile // nil = it is the scene's own
	Took    time.Duration    // on the wall clock
}

// Measure counts ended deliberations in their profiles' metrics and in a histogram, if there is one.
func Measure(list []Ended, in *Latency) {
	for _, e := range list {
		if e.Profile != nil {
			e.Profile.Took(e.Took)
		}
		in.Record(e.Took)
	}
}

// Quantile is the latency below which q percent of the deliberations stayed.
func (l *Latency) Quantile(q float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.h.ValueAtQuantile(q)) * time.Microsecond
}

// Doing is the current state of every agent, for simd_agents. Only the stage changes
// it; any goroutine may read the table.
type Doing struct {
	Table *metrics.AgentTable
	class []uint16
	state []metrics.AgentState // by ordinal, without the scene's own agent
}

// NewDoing takes the agents of a scene with these profiles, by class, as its journal left them. A
// sleeping agent counts as idle until it has deliberated again.
func NewDoing(profiles []string, class []uint16, size int, first func(uint32) metrics.AgentState) *Doing {
	d := &Doing{Table: metrics.NewAgentTable(profiles), class: class, state: make([]metrics.AgentState, size)}
	for o := range d.state {
		d.state[o] = first(uint32(o))
		d.Table.Add(int(d.class[o]), d.state[o], 1)
	}
	return d
}

// Become notes a change.
func (d *Doing) Become(o uint32, to metrics.AgentState) {
	if int(o) < len(d.state) {
		d.Table.Move(int(d.class[o]), d.state[o], to, 1)
		d.state[o] = to
	}
}

// Marks hold when an agent whose stages are measured was woken, and then when it
// ended its turn. One agent in 16 is measured in a wave, so 16 neighbours share a
// place. On the realtime clock waves overlap; the later agent takes the place, and
// the other is not measured.
type Marks struct {
	began time.Time
	at    []atomic.Int64 // nanoseconds since began; the lowest bits are those of the ordinal
}

const neighbours = 16

// NewMarks makes those of a scene.
func NewMarks(agents int) *Marks {
	return &Marks{began: time.Now(), at: make([]atomic.Int64, agents/neighbours+1)}
}

// Set marks an agent.
func (m *Marks) Set(o uint32) {
	m.at[o/neighbours].Store(int64(time.Since(m.began))&^(neighbours-1) | int64(o%neighbours))
}

// Since is the time since the mark; false = it has none.
func (m *Marks) Since(o uint32) (time.Duration, bool) {
	v := m.at[o/neighbours].Load()
	if v == 0 || v%neighbours != int64(o%neighbours) {
		return 0, false
	}
	return max(0, time.Since(m.began)-time.Duration(v)), true
}

// Sample divides the time of one deliberation into stages. A nil sample measures
// nothing.
type Sample struct {
	Last                 time.Time // lap
	Decide, Model, Apply time.Duration
}

// Lap adds the time since the last lap to a stage.
func (s *Sample) Lap(to metrics.Stage) {
	if s == nil {
		return
	}
	now := time.Now()
	d := now.Sub(s.Last)
	s.Last = now
	switch to {
	case metrics.StageDecide:
		s.Decide += d
	case metrics.StageModel:
		s.Model += d
	case metrics.StageApply:
		s.Apply += d
	}
}
