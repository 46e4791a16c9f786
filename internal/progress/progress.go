// Package progress shows the progress of work in a line for people.
package progress

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/internal/terminal"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling/progress"
)

// How often progress is shown: on a terminal a line that rewrites itself, elsewhere a
// plain line.
const (
	terminalEvery = 200 * time.Millisecond
	plainEvery    = 10 * time.Second
)

// Run shows on w how far the scenes of r are until ctx ends, then closes the channel
// that it returned.
func Run(ctx context.Context, w io.Writer, r *runner.Runner, quiet bool) <-chan struct{} {
	done := make(chan struct{})
	if quiet {
		close(done)
		return done
	}
	s, _ := w.(*terminal.Screen)
	go func() {
		defer close(done)
		p := &progressLine{runner: r, began: time.Now(), last: time.Now()}
		every := plainEvery
		if s != nil {
			every = terminalEvery
		}
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				if s != nil && p.shown {
					s.Rewrite("")
				}
				return
			case <-tick.C:
				p.write(w, s)
			}
		}
	}()
	return done
}

type progressLine struct {
	runner        *runner.Runner
	began, last   time.Time
	at, first     int64     // scene time that passed: at the last wave, and before this process
	moved         time.Time // when at became another
	deliberations int64
	events        int64
	calls         int64
	shown         bool
}

func (p *progressLine) write(w io.Writer, s *terminal.Screen) {
	parts := p.parts()
	p.shown = true
	if s == nil {
		fmt.Fprintln(w, fit(parts, 0))
		return
	}
	s.Rewrite(fit(parts, s.Width()-1))
}

// parts are what the line says, in its order.
func (p *progressLine) parts() (parts []part) {
	now := time.Now()
	dt := now.Sub(p.last).Seconds()
	p.last = now
	var names []string
	var deliberations, events, calls, failed, scene, end int64
	realtime, held := false, 0
	for _, s := range p.runner.Scenes {
		g := s.Run.Progress
		names = append(names, s.ID)
		if g.Held.Load() {
			held++
		}
		realtime = realtime || p.runner.Manifest.Clocks[s.ID] == agenda.Realtime
		deliberations += g.Deliberations.Load()
		events += g.Events.Load()
		calls += g.ModelCalls.Load()
		failed += g.Failed.Load()
		if at := g.Now.Load() - g.Begun.Load(); at > scene {
			scene = at
		}
		if g.End.Load() > 0 {
			end = max(end, g.End.Load()-g.Begun.Load())
		}
	}
	scene, rate := p.passed(now, scene, realtime && held == 0)
	if end > 0 {
		scene = min(scene, end)
	}
	say := func(rank int, format string, args ...any) {
		parts = append(parts, part{rank: rank, text: fmt.Sprintf(format, args...)})
	}
	say(rankNames, "%s", strings.Join(names, "+"))
	if end > 0 {
		share := min(1, float64(scene)/float64(end))
		say(rankBar, "  %s %3.0f%%", bar(share), 100*share)
	}
	say(rankTime, "  sim %s", clock(time.Duration(scene)))
	if end > 0 {
		say(rankEnd, "/%s", clock(time.Duration(end)))
		if rate > 0 && scene < end {
			say(rankEnd, "  ETA %s", time.Duration(float64(end-scene)/rate).Round(time.Second))
		}
	}
	parts = append(parts, stalls(p.runner)...)
	say(rankRates, "  ×%s | delib %s (%s/s)", terminal.Short(rate), terminal.Short(float64(deliberations)), terminal.Short(float64(deliberations-p.deliberations)/dt))
	say(rankEvents, "  ev %s/s  llm %s/s", terminal.Short(float64(events-p.events)/dt), terminal.Short(float64(calls-p.calls)/dt))
	say(rankEnd, "  errors %d", failed)
	p.deliberations, p.events, p.calls = deliberations, events, calls
	if held > 0 {
		say(rankPaused, "  | paused")
	}
	say(rankHands, "%s", hands(p.runner))
	return parts
}

// stalls says which endpoints take no requests now, as their rates are used up or they are away, and how many requests wait for them.
func stalls(r *runner.Runner) (parts []part) {
	seen := map[*gate.Gate]bool{}
	for _, s := range r.Scenes {
		for _, g := range s.Run.ModelGates() {
			s, waiting, wait := g.Stalled()
			if seen[g] || s.Why == "" || waiting == 0 {
				continue
			}
			seen[g] = true
			parts = append(parts, stall(g.Name(), s, waiting, wait)...)
		}
	}
	for i := 2; i < len(parts); i++ {
		parts[i].rank = rankHands // the first endpoint has its room before the others
	}
	return parts
}

func stall(name string, s limit.Stall, waiting int, wait time.Duration) []part {
	next := "; retrying"
	switch wait = wait.Round(time.Second); {
	case s.Paced:
		next = "; next in " + wait.String()
	case wait > 24*time.Hour: // no endpoint asks for that: the gate is shut for good, and the run stops
		next = ""
	case wait > 0:
		next = "; retry in " + wait.String()
	}
	return []part{{rank: rankStall, text: "  | " + name + " ", why: terminal.OneLine(s.Why), end: next}, {rank: rankWaiting, text: fmt.Sprintf(", %d wait", waiting)}}
}

// hands says of the call whose report is the newest how far it is, and how many more there
// are; "" = no call has said so.
func hands(r *runner.Runner) string {
	var newest progress.Report
	n := 0
	for _, s := range r.Scenes {
		for _, x := range s.ToolReports() {
			if n++; x.At.After(newest.At) {
				newest = x
			}
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("  | %s %s", newest.Tool, newest.Progress)
	}
	return fmt.Sprintf("  | %s %s and %d more calls", newest.Tool, newest.Progress, n-1)
}

// passed is the scene time that has passed and how much of it passes in a second.
// On the realtime clock it also passes between two waves.
func (p *progressLine) passed(now time.Time, scene int64, realtime bool) (at int64, rate float64) {
	if p.moved.IsZero() {
		p.first = scene
	}
	if scene != p.at || p.moved.IsZero() {
		p.at, p.moved = scene, now
	}
	if realtime {
		return scene + int64(now.Sub(p.moved)), 1
	}
	return scene, float64(scene-p.first) / float64(max(1, now.Sub(p.began)))
}

func bar(share float64) string {
	const cells = 12
	full := int(share * cells)
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}

// clock is a span as hours, minutes and seconds, with days in front.
func clock(d time.Duration) string {
	s := int64(d / time.Second)
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if s >= 86400 {
		return fmt.Sprintf("%dd %s", s/86400, text)
	}
	return text
}
