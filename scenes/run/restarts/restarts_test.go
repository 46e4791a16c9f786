package restarts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/run/rundir"
)

// at is a summary of a run that came so far.
func at(waves uint64, resumable bool) *rundir.Summary {
	return &rundir.Summary{SceneSummary: &rundir.SceneSummary{Scene: "s", Waves: waves, Journal: rundir.Journal{Waves: waves}}, RunDir: "runs/x", Resumable: resumable}
}

func full() error {
	return errors.Join(&scenes.DiskFailure{Scene: "s", Cause: protocol.Errorf(protocol.KindLimit, "write 000002.log: %w", syscall.ENOSPC)}, errors.New("summary.json"))
}

func crash() error {
	return &scenes.Crash{Scene: "s", Text: "fell over", MaxRestarts: 2, Backoff: time.Second}
}

// script lives one line after the other.
type script struct {
	lives []func() (*rundir.Summary, error)
	told  []string
	saw   []string // how each life began, with the time since the first
	began time.Time
}

func lived(waves uint64, err error) func() (*rundir.Summary, error) {
	return func() (*rundir.Summary, error) { return at(waves, err != nil), err }
}

// half lived with a scene that could not begin, of which nothing is known.
func half(waves uint64, err error) func() (*rundir.Summary, error) {
	return func() (*rundir.Summary, error) {
		sum := at(waves, true)
		sum.Scenes, sum.SceneSummary = []*rundir.SceneSummary{sum.SceneSummary, {Scene: "other"}}, nil
		return sum, err
	}
}

// both lived with two scenes.
func both(waves, other uint64, err error) func() (*rundir.Summary, error) {
	return func() (*rundir.Summary, error) {
		sum, _ := half(waves, err)()
		sum.Scenes[1].Journal.Waves = other
		return sum, err
	}
}

func unborn(err error) func() (*rundir.Summary, error) {
	return func() (*rundir.Summary, error) { return nil, err }
}

func (s *script) live(resume string, crashes map[string][]*scenes.Crash) (*rundir.Summary, error) {
	s.saw = append(s.saw, fmt.Sprintf("%s%q %d", time.Since(s.began), resume, len(crashes["s"])))
	next := s.lives[0]
	s.lives = s.lives[1:]
	return next()
}

func (s *script) plan(wait time.Duration, broken func() bool) Plan {
	s.began = time.Now()
	return Plan{
		Attempt: s.live, DiskWait: wait, Metrics: metrics.New(), Tell: func(text string) { s.told = append(s.told, text) },
		Probe: func(dir string) error {
			if dir != "runs/x/journal" || broken() {
				return syscall.ENOSPC
			}
			return nil
		},
	}
}

// Promises 1 to 3: how often a failed scene is restarted, how long a disk is waited
// for, and that a run which could not start is not tried again.
func TestRestarts(t *testing.T) {
	for _, c := range []struct {
		name  string
		lives []func() (*rundir.Summary, error)
		wait  time.Duration
		back  time.Duration // when the disk works again
		want  string        // how the lives began
		err   string        // how it ended
		told  string
	}{
		{"it ends", []func() (*rundir.Summary, error){lived(9, nil)}, Forever, 0, `0s"" 0`, "", ""},
		{"it cannot start", []func() (*rundir.Summary, error){unborn(syscall.ENOSPC)}, Forever, 0, `0s"" 0`, "no space left", ""},
		{"another error", []func() (*rundir.Summary, error){lived(9, errors.New("hm"))}, Forever, 0, `0s"" 0`, "hm", ""},
		{"full, then room", []func() (*rundir.Summary, error){lived(3, full()), lived(9, nil)}, Forever, 5 * time.Second, `0s"" 0, 7s"runs/x" 0`, "", "can be written again after 7s"},
		{"full, and no waiting", []func() (*rundir.Summary, error){lived(3, full())}, 0, 0, `0s"" 0`, "no space left", ""},
		{"full for too long", []func() (*rundir.Summary, error){lived(3, full())}, time.Minute, time.Hour, `0s"" 0`, "no space left", "for 1m0s (--disk-wait)"},
		{"a long pause at most", []func() (*rundir.Summary, error){lived(3, full()), lived(9, nil)}, Forever, 10 * time.Minute, `0s"" 0, 10m1s"runs/x" 0`, "", "again after 10m1s"},
		{
			"full again without a wave: one outage, longer pauses",
			[]func() (*rundir.Summary, error){lived(3, full()), lived(3, full()), unborn(protocol.Errorf(protocol.KindTransient, "open")), lived(9, nil)},
			Forever, 0, `0s"" 0, 1s"runs/x" 0, 3s"runs/x" 0, 7s"runs/x" 0`, "", "",
		},
		{
			"full again after a wave", []func() (*rundir.Summary, error){lived(3, full()), lived(4, full()), lived(9, nil)},
			Forever, 0, `0s"" 0, 1s"runs/x" 0, 2s"runs/x" 0`, "", "",
		},
		{
			"full before all scenes have begun: a wave of one counts, not that another is back",
			[]func() (*rundir.Summary, error){both(3, 9, full()), half(4, full()), both(4, 9, full()), half(4, full()), lived(9, nil)},
			Forever, 0, `0s"" 0, 1s"runs/x" 0, 2s"runs/x" 0, 4s"runs/x" 0, 8s"runs/x" 0`, "", "",
		},
		{
			"full for too long in sum", []func() (*rundir.Summary, error){lived(3, full()), lived(3, full()), lived(3, full()), lived(3, full())},
			6 * time.Second, 0, `0s"" 0, 1s"runs/x" 0, 3s"runs/x" 0, 6s"runs/x" 0`, "no space left", "for 6s",
		},
		{
			"the next life cannot begin for another reason", []func() (*rundir.Summary, error){lived(3, full()), unborn(protocol.Errorf(protocol.KindCorrupt, "damaged"))},
			Forever, 0, `0s"" 0, 1s"runs/x" 0`, "damaged", "",
		},
		{"a crash", []func() (*rundir.Summary, error){lived(3, crash()), lived(9, nil)}, Forever, 0, `0s"" 0, 1s"runs/x" 1`, "", "restarting it from the journal in 1s (1 of 2)"},
		{
			"crashes without a wave", []func() (*rundir.Summary, error){lived(3, crash()), lived(3, crash()), lived(3, crash())},
			Forever, 0, `0s"" 0, 1s"runs/x" 1, 3s"runs/x" 2`, "fell over", "(2 of 2)",
		},
		{
			"crashes with waves between", []func() (*rundir.Summary, error){lived(3, crash()), lived(4, crash()), lived(5, crash()), lived(9, nil)},
			Forever, 0, `0s"" 0, 1s"runs/x" 1, 2s"runs/x" 1, 3s"runs/x" 1`, "", "(1 of 2)",
		},
		{
			"a crash, then a full disk, then a crash", []func() (*rundir.Summary, error){lived(3, crash()), lived(4, full()), lived(4, crash()), lived(9, nil)},
			Forever, 0, `0s"" 0, 1s"runs/x" 1, 2s"runs/x" 0, 3s"runs/x" 1`, "", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{lives: c.lives}
				began := time.Now()
				sum, err := s.plan(c.wait, func() bool { return time.Since(began) < c.back }).Run(t.Context())
				if got := strings.Join(s.saw, ", "); got != c.want || len(s.lives) > 0 {
					t.Errorf("lives %s; want %s; %d left", got, c.want, len(s.lives))
				}
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v; want %q", err, c.err)
				}
				if err == nil && sum.Waves != 9 {
					t.Errorf("summary %+v", sum)
				}
				if told := strings.Join(s.told, "\n"); !strings.Contains(told, c.told) || strings.Count(told, "the run waits") > 2 {
					t.Errorf("told %q; want %q", told, c.told)
				}
			})
		})
	}
}

// Promise 1: failures are counted by scene, also when several scenes fail in one attempt.
func TestCrashesOfSeveralScenes(t *testing.T) {
	of := func(scene string) *scenes.Crash {
		return &scenes.Crash{Scene: scene, Text: "fell over", MaxRestarts: 1, Backoff: time.Second}
	}
	for _, c := range []struct {
		name  string
		lives []func() (*rundir.Summary, error)
		want  string // crashes of s and other that each life is told of
		err   string
	}{
		{"each once", []func() (*rundir.Summary, error){both(3, 8, of("s")), both(3, 8, of("other")), lived(9, nil)}, "0 0, 1 0, 1 1", ""},
		{"both at once", []func() (*rundir.Summary, error){both(3, 9, errors.Join(of("s"), fmt.Errorf("%w", of("other")))), lived(9, nil)}, "0 0, 1 1", ""},
		{"one twice", []func() (*rundir.Summary, error){both(3, 9, of("s")), both(3, 9, errors.Join(of("other"), of("s")))}, "0 0, 1 0", "scene s failed"},
		{"one twice, with a wave", []func() (*rundir.Summary, error){both(3, 9, of("s")), both(4, 9, errors.Join(of("other"), of("s"))), lived(9, nil)}, "0 0, 1 0, 1 1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw []string
				p := (&script{}).plan(0, func() bool { return false })
				p.Attempt = func(_ string, crashes map[string][]*scenes.Crash) (*rundir.Summary, error) {
					saw = append(saw, fmt.Sprint(len(crashes["s"]), " ", len(crashes["other"])))
					return c.lives[len(saw)-1]()
				}
				_, err := p.Run(t.Context())
				if got := strings.Join(saw, ", "); got != c.want {
					t.Errorf("lives were told of %s; want %s", got, c.want)
				}
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v; want %q", err, c.err)
				}
			})
		})
	}
}

// Promise 2: a wait that is interrupted gives the run as it is.
func TestInterruptedWait(t *testing.T) {
	for _, resumable := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{lives: []func() (*rundir.Summary, error){func() (*rundir.Summary, error) { return at(3, resumable), full() }}}
			p := s.plan(Forever, func() bool { return true })
			p.Guard = func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Minute)
			}
			sum, err := p.Run(t.Context())
			if sum.Waves != 3 || (err == nil) != resumable || time.Since(s.began) != time.Minute {
				t.Errorf("%+v, %v after %s", sum, err, time.Since(s.began))
			}
		})
	}
}
