package runner

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"tavernsim/engine/bus/delivery"
	"tavernsim/internal/metrics"
	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/restarts"
	"tavernsim/scenes/run/rundir"
)

// tmpfsEnv makes this process the child of TestSmallDisk.
const tmpfsEnv = "SIMD_SMALL_DISK"

// options make a run of some hundred milliseconds with many waves.
func options(dir string) Options {
	return Options{Dir: dir, Scenes: []string{"day", "night"}, Ticks: 100, BatchFacts: 50, Snapshots: machines.SnapshotPolicy{Facts: 400}, Metrics: metrics.New()}
}

// plan starts the town, or goes on with it.
func plan(p *project.Project, opt Options) restarts.Plan {
	return restarts.Plan{DiskWait: restarts.Forever, Metrics: opt.Metrics, Tell: func(string) {}, Attempt: func(resume string, crashes map[string][]*scenes.Crash) (*rundir.Summary, error) {
		opt := opt
		opt.Crashes = crashes
		var r *Runner
		var err error
		if resume == "" {
			r, err = Start(p, opt)
		} else {
			opt.Finish = true
			r, err = Resume(resume, opt)
		}
		if err != nil {
			return nil, err
		}
		return r.Wait()
	}}
}

func undisturbed(t *testing.T, p *project.Project) string {
	t.Helper()
	sum, err := plan(p, options(filepath.Join(t.TempDir(), "whole"))).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sum.Digests()
}

// A disk that fails in whatever way and then works again: the run goes on to the
// digest of an undisturbed one, and metrics tell.
func TestFailingDisk(t *testing.T) {
	p := loadTown(t)
	want := undisturbed(t, p)
	type outage struct {
		name  string
		level persistence.Durability
		kind  func(persistencetest.DiskOp) bool
		errno syscall.Errno
		scene string // whose deliveries count: night starts last, and day may run before there is a night
		after int64  // so many; how often the log is written for them depends on the machine
	}
	outages := []outage{
		{"full at the start", persistence.Process, isWrite, syscall.ENOSPC, "night", 5},
		{"full before all scenes have begun", persistence.Process, isWrite, syscall.ENOSPC, "day", 1},
		{"full", persistence.Process, isWrite, syscall.ENOSPC, "night", 40},
		{"full, power", persistence.Power, isWrite, syscall.ENOSPC, "night", 20},
		{"bad sectors", persistence.Process, isWrite, syscall.EIO, "night", 30},
		{"syncs fail", persistence.Power, isSync, syscall.EIO, "night", 20},
		{"read-only all of a sudden", persistence.Process, func(op persistencetest.DiskOp) bool { return op.Create || op.Write }, syscall.EROFS, "night", 20},
	}
	if testing.Short() {
		outages = outages[3:4]
	}
	for _, c := range outages {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			left, probes := atomic.Int64{}, 0
			left.Store(c.after)
			opt := options(filepath.Join(t.TempDir(), "run"))
			opt.Durability = c.level
			opt.Middleware = delivery.Chain{delivery.Func(func(m delivery.Message, v delivery.Verdict) delivery.Verdict {
				if m.Envelope.Scene == c.scene && left.Add(-1) == 0 {
					broken.Store(true)
				}
				return v
			})}
			opt.FS = persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
				if c.kind(op) && broken.Load() {
					return c.errno
				}
				return nil
			})
			var told []string
			pl := plan(p, opt)
			pl.Tell = func(text string) { told = append(told, text) }
			pl.Probe = func(string) error {
				if probes++; probes == 1 { // what a scrape sees while it waits
					if n := gauge(t, opt.Metrics, "waiting"); n < 1 {
						t.Errorf("%v scenes wait", n)
					}
					broken.Store(false)
				}
				return nil
			}
			sum, err := pl.Run(t.Context())
			if err != nil || sum.Resumable {
				t.Fatal(sum, err)
			}
			if got := sum.Digests(); got != want {
				t.Errorf("digests %s, want %s", got, want)
			}
			if probes != 1 || len(told) != 2 || !strings.Contains(told[0], "the journal cannot be written") || !strings.Contains(told[0], "free of") {
				t.Errorf("%d probes, told %q", probes, told)
			}
			for state, n := range map[string]float64{"waiting": 0, "failed": 0, "ended": 2} {
				if got := gauge(t, opt.Metrics, state); got != n {
					t.Errorf("%v scenes are %s; want %v", got, state, n)
				}
			}
		})
	}
}

func isSync(op persistencetest.DiskOp) bool { return op.Sync }

func isWrite(op persistencetest.DiskOp) bool { return op.Write }

// gauge is how many scenes are in a state, as a scrape sees it.
func gauge(t *testing.T, set *metrics.Set, state string) (n float64) {
	t.Helper()
	families, err := set.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "simd_scenes" && m.GetLabel()[0].GetValue() == state {
				n += m.GetGauge().GetValue()
			}
		}
	}
	return n
}
