package bench

import (
	"fmt"
	"time"

	"tavernsim/engine/order"
	"tavernsim/internal/metrics"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

// Names of workloads.
const (
	Third  = "third"
	Movers = "movers"
	PHOLD  = "phold"
)

// Workloads are the names, in the order of the help.
func Workloads() []string { return []string{Third, Movers, PHOLD} }

// WorkloadOptions say what to run. Zero fields take the defaults.
type WorkloadOptions struct {
	Name       string                 // one of Workloads
	Agents     int                    // default 1,000
	Durability persistence.Durability // default process
	Dir        string                 // for the run directory; default a temporary one, removed afterwards
}

// Workload is what a task cost that others publish figures of.
type Workload struct {
	Name           string  `json:"workload"`
	Agents         int     `json:"agents"`
	SceneSeconds   float64 `json:"scene_seconds"`
	WallSeconds    float64 `json:"wall_seconds"`
	CPUSeconds     float64 `json:"cpu_seconds"` // of all cores
	Deliberations  int64   `json:"deliberations"`
	Facts          int64   `json:"facts"`
	JournalBytes   uint64  `json:"journal_bytes"`
	MemoryPerAgent float64 `json:"resident_bytes_per_agent"` // growth of the process at its peak; 0 = not known
	Digest         string  `json:"digest"`
	// Of third.
	Rounds    int     `json:"rounds,omitempty"`
	RoundWall float64 `json:"wall_seconds_per_round,omitempty"`
	Mean      float64 `json:"mean,omitempty"` // of the numbers of the last round
	// Of movers.
	PerSceneSec float64 `json:"cpu_seconds_per_scene_second,omitempty"`
	// Of phold.
	Jobs       int64   `json:"jobs,omitempty"`
	JobsPerCPU float64 `json:"jobs_per_cpu_second,omitempty"`
}

// thirdRounds is how often the players name a number.
const thirdRounds = 3

// RunWorkload runs one of the workloads; a name that is none is an error.
func RunWorkload(o WorkloadOptions) (w Workload, err error) {
	if o.Agents <= 0 {
		o.Agents = 1000
	}
	if o.Durability == "" {
		o.Durability = persistence.Process
	}
	p, done, err := prepare(&o.Dir)
	if err != nil {
		return w, err
	}
	defer done()
	opt := runner.Options{Dir: o.Dir + "/run", Scenes: []string{o.Name}, Agents: o.Agents, Durability: o.Durability, Version: "bench", Metrics: metrics.New(), Orders: beginnings(o)}
	memory := startPeak()
	cpu, start := cpuTime(), time.Now()
	r, err := runner.Start(p, opt)
	if err != nil {
		return w, err
	}
	s, err := r.Wait()
	if err != nil {
		return w, err
	}
	w = Workload{
		Name: o.Name, Agents: s.Agents, SceneSeconds: s.SceneSeconds, WallSeconds: time.Since(start).Seconds(), CPUSeconds: (cpuTime() - cpu).Seconds(),
		Deliberations: s.Deliberations, Facts: s.Journal.Facts, JournalBytes: s.Journal.Bytes, Digest: s.Digest,
		MemoryPerAgent: memory.growth(s.Agents),
	}
	return w, w.count(s)
}

// beginnings are the orders that begin what the agents do.
func beginnings(o WorkloadOptions) (list []order.Entry) {
	many := func(path string) any { return map[string]any{"world": map[string]any{"path": path, "value": o.Agents}} }
	event := func(e map[string]any) any { return map[string]any{"event": e} }
	second := func(n int) protocol.Duration { return protocol.Duration(time.Duration(n) * time.Second) }
	switch o.Name {
	case Third:
		list = append(list, order.Entry{ID: "players", At: second(1), Do: []any{many("players")}})
		for n := range thirdRounds { // a number takes the model a second
			list = append(list, order.Entry{ID: fmt.Sprintf("round-%d", n+1), At: second(5 * (n + 1)), Do: []any{event(map[string]any{"type": "round.begun", "payload": map[string]any{"round": n + 1}})}})
		}
	case PHOLD:
		list = append(list, order.Entry{ID: "jobs", At: second(1), Do: []any{many("lps"), event(map[string]any{"type": "job"})}})
	}
	return list
}

// count holds that the agents did the work, and says what it was.
func (w *Workload) count(s *rundir.Summary) error {
	if s.Failed > 0 || s.Events.Refused > 0 || s.Model.Failed > 0 || s.Tools.Failed > 0 {
		return protocol.Errorf(protocol.KindInternal, "bench: %d deliberations, %d events, %d model calls and %d tool calls failed", s.Failed, s.Events.Refused, s.Model.Failed, s.Tools.Failed)
	}
	switch w.Name {
	case Third:
		w.Rounds = thirdRounds
		if want := int64(thirdRounds) * int64(w.Agents); w.Deliberations != want || len(s.Report) != 1 {
			return protocol.Errorf(protocol.KindInternal, "bench: %d players named %d numbers in %d rounds", w.Agents, w.Deliberations, thirdRounds)
		}
		sum, _ := s.Report[0].Value.(int64)
		w.RoundWall, w.Mean = w.WallSeconds/thirdRounds, float64(sum)/100/float64(w.Agents)
	case Movers:
		if w.Deliberations < int64(w.Agents) {
			return protocol.Errorf(protocol.KindInternal, "bench: %d movers deliberated %d times", w.Agents, w.Deliberations)
		}
		w.PerSceneSec = w.CPUSeconds / w.SceneSeconds
	case PHOLD:
		w.Jobs = s.Events.Delivered
		if w.Jobs < int64(w.Agents) {
			return protocol.Errorf(protocol.KindInternal, "bench: %d processes had %d jobs", w.Agents, w.Jobs)
		}
		w.JobsPerCPU = over(float64(w.Jobs), w.CPUSeconds)
	}
	return nil
}

// WorkloadText is for people.
func WorkloadText(w *Workload) string {
	text := fmt.Sprintf("%s: %d agents, %.0f s of the scene in %.1f s (%.1f s of CPU)\n", w.Name, w.Agents, w.SceneSeconds, w.WallSeconds, w.CPUSeconds)
	switch w.Name {
	case Third:
		text += fmt.Sprintf("  a round             %.2f s; in the last of %d the mean was %.2f, two thirds of it %.2f\n", w.RoundWall, w.Rounds, w.Mean, w.Mean*2/3)
	case Movers:
		text += fmt.Sprintf("  a second of theirs  %s of CPU\n", span(w.PerSceneSec).Round(10*time.Microsecond))
	case PHOLD:
		text += fmt.Sprintf("  jobs                %d, %.0f for a second of a processor\n", w.Jobs, w.JobsPerCPU)
	}
	return text + fmt.Sprintf("  deliberations       %d\n  journal             %d facts, %.0f MB\n  at the peak         %s\n", w.Deliberations, w.Facts, float64(w.JournalBytes)/1e6, perAgent(w.MemoryPerAgent))
}
