package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"time"

	"tavernsim/engine/control"
	"tavernsim/engine/order"
	"tavernsim/internal/metrics"
	"tavernsim/llm/models/modelfile"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/timing"
)

// AsleepOptions say what to run. Zero fields take the defaults.
type AsleepOptions struct {
	Agents     int                    // default 100,000
	Events     int                    // default 1,000: each for one agent; at most order.MaxOrders
	Durability persistence.Durability // default process
	Dir        string                 // for the run directory; default a temporary one, removed afterwards
}

// Asleep is what agents cost that sleep, and what it costs to wake one.
type Asleep struct {
	Agents         int     `json:"agents"`
	Resident       int64   `json:"resident_bytes"`           // of the process, while all sleep
	ResidentPer    float64 `json:"resident_bytes_per_agent"` // grown since before the start
	Live           int64   `json:"live_heap_bytes"`          // while all sleep
	LivePer        float64 `json:"live_heap_bytes_per_agent"`
	PeakPer        float64 `json:"peak_bytes_per_agent"` // grown from before the start to the peak, which is in their first turns; 0 = not known
	Passive        int     `json:"passive"`              // agents without an actor, while all sleep
	StatePer       float64 `json:"state_bytes_per_agent"`
	Events         int     `json:"events"`
	Woken          int64   `json:"woken"` // deliberations that followed from the events
	WakeP50        float64 `json:"wake_p50_seconds"`
	WakeP99        float64 `json:"wake_p99_seconds"`
	WakeMax        float64 `json:"wake_max_seconds"`
	FirstTurnsSecs float64 `json:"first_turns_seconds"` // wall time from the start until all sleep
	Digest         string  `json:"digest"`
}

// RunAsleep lets agents take one turn each and fall asleep, and then sends events, each to one of
// them, which wakes it from its stored state.
func RunAsleep(o AsleepOptions) (a Asleep, err error) {
	if o.Agents <= 0 {
		o.Agents = 100_000
	}
	if o.Events <= 0 {
		o.Events = 1000
	}
	if o.Durability == "" {
		o.Durability = persistence.Process
	}
	p, done, err := prepare(&o.Dir)
	if err != nil {
		return a, err
	}
	defer done()
	wakes := timing.NewLatency()
	opt := runner.Options{
		Dir: o.Dir + "/run", Scenes: []string{"asleep"}, Model: modelfile.KindScripted, Agents: o.Agents, Durability: o.Durability, Version: "bench", Metrics: metrics.New(),
		Orders: calls(o.Agents, o.Events), Control: []control.Command{{Do: control.Pause}}, ColdWakes: wakes,
		Snapshots: machines.SnapshotPolicy{Facts: -1}, // one that is being written holds all states once more
	}
	memory, start := startPeak(), time.Now()
	r, err := runner.Start(p, opt)
	if err != nil {
		return a, err
	}
	run := r.Scenes[0].Run
	if _, err := run.Control(context.Background(), &control.Command{Do: control.Step, Until: protocol.Duration(time.Second)}); err != nil {
		return a, err
	}
	a = Asleep{Agents: o.Agents, Events: o.Events, FirstTurnsSecs: time.Since(start).Seconds()}
	n := float64(o.Agents)
	a.PeakPer = memory.growth(o.Agents)
	debug.FreeOSMemory()
	a.Resident, a.Live = residentBytes(), int64(memStats().HeapAlloc)
	a.ResidentPer, a.LivePer = float64(a.Resident-memory.resident)/n, float64(a.Live)/n
	_, passive, bytes := run.Seats()
	a.Passive, a.StatePer = passive, float64(bytes)/n
	if _, err := run.Control(context.Background(), &control.Command{Do: control.Resume}); err != nil {
		return a, err
	}
	s, err := r.Wait()
	if err != nil {
		return a, err
	}
	a.Woken, a.Digest = s.Deliberations-int64(s.Agents), s.Digest
	a.WakeP50, a.WakeP99, a.WakeMax = wakes.Quantile(50).Seconds(), wakes.Quantile(99).Seconds(), wakes.Quantile(100).Seconds()
	if a.Woken != int64(o.Events) {
		return a, protocol.Errorf(protocol.KindInternal, "bench: %d events for one agent each, and %d deliberations", o.Events, a.Woken)
	}
	return a, nil
}

// calls are events for one agent each, in every second tick, so that nothing else happens in the wave
// in which the agent wakes.
func calls(agents, events int) (list []order.Entry) {
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range events {
		list = append(list, order.Entry{
			ID: "call-" + strconv.Itoa(i+1), At: protocol.Duration(time.Duration(2*i+2) * time.Second),
			Do: []any{map[string]any{"event": map[string]any{"type": "called", "priority": "high", "to": "sleeper_" + strconv.Itoa(1+chance.IntN(agents))}}},
		})
	}
	return list
}

// AsleepText is for people.
func AsleepText(a *Asleep) string {
	mib := func(n float64) float64 { return n / (1 << 20) }
	return fmt.Sprintf(`%d agents asleep, after a turn each (%.1f s); %d have no actor
  resident            %.0f MiB (%.0f B an agent, of which live heap %.0f, their states %.0f)
  at the peak         %s, in their first turns
  woken               %d by %d events, each for one agent
  cold wake           p50 %s, p99 %s, max %s: from the event until the agent has its state
`, a.Agents, a.FirstTurnsSecs, a.Passive, mib(float64(a.Resident)), a.ResidentPer, a.LivePer, a.StatePer, perAgent(a.PeakPer), a.Woken, a.Events, span(a.WakeP50), span(a.WakeP99), span(a.WakeMax))
}

func span(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
