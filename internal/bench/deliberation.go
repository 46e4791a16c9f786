package bench

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"

	"tavernsim/internal/metrics"
	"tavernsim/llm/models/modelfile"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/timing"
)

//go:embed project
var files embed.FS

// prepare loads the project of the benchmarks. An empty dir becomes a temporary one, which done
// removes.
func prepare(dir *string) (p *project.Project, done func(), err error) {
	sub, err := fs.Sub(files, "project")
	if err != nil {
		return nil, nil, err
	}
	if p, err = runner.LoadFS(sub, "bench", true); err != nil || *dir != "" {
		return p, func() {}, err
	}
	*dir, err = os.MkdirTemp("", "simd-bench-")
	return p, func() { _ = os.RemoveAll(*dir) }, err
}

// DeliberationOptions say what to run. Zero fields take the defaults.
type DeliberationOptions struct {
	Agents     int                    // default 10,000
	Ticks      int64                  // default 10: deliberations of each agent
	Durability persistence.Durability // default process
	Workers    int                    // default GOMAXPROCS
	Over       *OverHTTP              // where the model is; nil = the scripted model of the program
	Dir        string                 // for the run directory; default a temporary one, removed afterwards
}

func (o DeliberationOptions) withDefaults() DeliberationOptions {
	if o.Agents <= 0 {
		o.Agents = 10_000
	}
	if o.Ticks <= 0 {
		o.Ticks = 10
	}
	if o.Durability == "" {
		o.Durability = persistence.Process
	}
	if o.Over != nil && o.Over.AtOnce <= 0 {
		over := *o.Over
		over.AtOnce = 10_000
		o.Over = &over
	}
	return o
}

// Deliberation is what a run of deliberations cost.
type Deliberation struct {
	Agents         int     `json:"agents"`
	Durability     string  `json:"durability"`
	Workers        int     `json:"workers"`
	Deliberations  int64   `json:"deliberations"`
	Facts          int64   `json:"facts"`
	WallSeconds    float64 `json:"wall_seconds"`
	CPUSeconds     float64 `json:"cpu_seconds"`
	PerSecond      float64 `json:"deliberations_per_second"`
	NsPer          float64 `json:"ns_per_deliberation"`     // wall
	CPUNsPer       float64 `json:"cpu_ns_per_deliberation"` // of all cores
	BytesPer       float64 `json:"journal_bytes_per_deliberation"`
	AllocsPer      float64 `json:"allocs_per_deliberation"`
	AllocBytesPer  float64 `json:"alloc_bytes_per_deliberation"`
	Syncs          int64   `json:"syncs"`          // of the journal's log; none below power
	PerSync        float64 `json:"facts_per_sync"` // 0 without syncs
	P50            float64 `json:"p50_seconds"`
	P99            float64 `json:"p99_seconds"`
	MemoryPerAgent float64 `json:"resident_bytes_per_agent"` // growth of the process at its peak; 0 = not known
	Digest         string  `json:"digest"`
	Serial         *Serial `json:"serial,omitempty"` // nil where a thread's time is not known, and of a run over HTTP
	HTTP           *HTTP   `json:"http,omitempty"`   // of a run over HTTP
}

// RunDeliberation runs the bench project: N agents with a real workflow, the
// scripted model and a real journal.
func RunDeliberation(o DeliberationOptions) (d Deliberation, err error) {
	o = o.withDefaults()
	if o.Over != nil {
		if err := o.Over.fits(o.Agents, openFiles()); err != nil {
			return d, err
		}
	}
	p, done, err := prepare(&o.Dir)
	if err != nil {
		return d, err
	}
	defer done()
	opt := runner.Options{Scenes: []string{"deliberation"}, Model: modelfile.KindScripted, Agents: o.Agents, Ticks: o.Ticks, Durability: o.Durability, Workers: o.Workers, Version: "bench"}
	if o.Over != nil {
		opt.Model = "http"
		switch { // by max_deliberating
		case o.Over.AtOnce > 2048: // its default
			opt.Scenes = []string{"http"} // every agent waits at once
		case o.Over.AtOnce <= 256:
			opt.Scenes = []string{"http_few"} // a few more than have a place; others would fill the caches and wait
		}
		if opt.Endpoints, err = o.Over.endpoint(); err != nil {
			return d, err
		}
		defer func() { err = errors.Join(err, opt.Endpoints["bench"].Close()) }()
	}
	set, serial := metrics.New(), &timing.Serial{Clock: threadTime}
	opt.Dir, opt.Metrics = o.Dir+"/run", set
	if threadTime() > 0 && o.Over == nil { // over HTTP the stage takes each turn by itself, and two system calls for each show
		opt.Serial = serial
	}
	memory := startPeak()
	before, cpu := memStats(), cpuTime()
	start := time.Now()
	r, err := runner.Start(p, opt)
	if err != nil {
		return d, err
	}
	s, err := r.Wait()
	if err != nil {
		return d, err
	}
	wall := time.Since(start)
	after := memStats()
	d = Deliberation{
		Agents: s.Agents, Durability: string(o.Durability), Workers: o.Workers, Deliberations: s.Deliberations, Facts: s.Journal.Facts,
		WallSeconds: wall.Seconds(), CPUSeconds: (cpuTime() - cpu).Seconds(), P50: s.Latency.P50, P99: s.Latency.P99, Digest: s.Digest,
		MemoryPerAgent: memory.growth(s.Agents),
	}
	if d.Deliberations == 0 {
		return d, protocol.Errorf(protocol.KindInternal, "bench: nobody deliberated")
	}
	if d.Syncs = walSyncs(set); d.Syncs > 0 {
		d.PerSync = float64(d.Facts) / float64(d.Syncs)
	}
	n := float64(d.Deliberations)
	d.PerSecond, d.NsPer, d.CPUNsPer = n/wall.Seconds(), float64(wall)/n, d.CPUSeconds*1e9/n
	d.BytesPer = float64(s.Journal.Bytes) / n
	d.AllocsPer = float64(after.Mallocs-before.Mallocs) / n
	d.AllocBytesPer = float64(after.TotalAlloc-before.TotalAlloc) / n
	if opt.Serial != nil {
		d.Serial = serialOf(serial, d.CPUNsPer, n)
	}
	if s.Model.Failed > 0 {
		return d, protocol.Errorf(protocol.KindTransient, "bench: %d of %d model calls failed", s.Model.Failed, s.Model.Calls)
	}
	if o.Over != nil { // the bare client needs as many connections again
		err = errors.Join(opt.Endpoints["bench"].Close(), o.Over.measure(&d, o.Ticks))
	}
	return d, err
}

// walSyncs reads how often the database's log was synced, from the counters that
// a run leaves behind.
func walSyncs(set *metrics.Set) (n int64) {
	families, err := set.Registry.Gather()
	if err != nil {
		return 0
	}
	for _, f := range families {
		if f.GetName() == "simd_pebble_wal_syncs_total" {
			n = int64(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	return n
}

func memStats() runtime.MemStats {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m
}
