package runner

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/actors"
	"tavernsim/internal/metrics"
	"tavernsim/internal/metrics/scrape"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
)

// shown is a scrape.
func shown(set *metrics.Set) string {
	w := httptest.NewRecorder()
	scrape.Handler(set, scrape.Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// shows holds lines that a scrape must have.
func shows(t *testing.T, set *metrics.Set, lines ...string) {
	t.Helper()
	text := shown(set)
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no %q in the scrape, but\n%s", line, strings.Join(about(text, metricOf(line)), "\n"))
		}
	}
}

// metricOf is the name that a line begins with.
func metricOf(line string) string { return line[:max(0, strings.IndexAny(line, "{ "))] }

// about lists the samples of a metric.
func about(text, name string) (out []string) {
	for line := range strings.Lines(text) {
		if metricOf(line) == name {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// The process is ready while its scenes run; what it resumed counts as replayed;
// the durability is that of the store; nothing of a closed run is read.
func TestRunMeasures(t *testing.T) {
	p := loadTown(t)
	dir := filepath.Join(t.TempDir(), "run")
	set := metrics.New()
	shows(t, set, "simd_ready 0")
	r, err := Start(p, Options{Dir: dir, Metrics: set, Durability: persistence.Power, Ticks: 100000})
	if err != nil {
		t.Fatal(err)
	}
	shows(t, set, "simd_ready 1", `simd_scenes{state="failed"} 0`)
	r.Interrupt()
	shows(t, set, "simd_ready 0")
	if sum := wait(t, r); !sum.Resumable {
		t.Fatal("it ended")
	}
	shows(t, set, `simd_scenes{state="interrupted"} 1`, `simd_scenes{state="running"} 0`, `simd_journal_commit_duration_seconds_count{sync="process"} 0`)
	if got := about(shown(set), "simd_agents"); len(got) > 0 {
		t.Errorf("the agents of a closed run are shown: %v", got)
	}
	counted := metrics.New()
	replayed, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{Metrics: counted})
	if err != nil {
		t.Fatal(err)
	}
	shows(t, counted, fmt.Sprintf("simd_replay_events_total %v", float64(replayed.Scenes[0].Facts)), "simd_replay_divergences_total 0")
}

// A project that cannot be started is no scene of the process.
func TestAFailedStartIsMeasured(t *testing.T) {
	p := loadTown(t)
	set := metrics.New()
	_, err := Start(p, Options{Dir: filepath.Join(t.TempDir(), "run"), Metrics: set, Until: "1 +"})
	if err == nil {
		t.Fatal("it started")
	}
	shows(t, set, "simd_ready 0", `simd_scenes{state="starting"} 0`)
}

func TestDeadLettersAreMeasured(t *testing.T) {
	set := metrics.New()
	h := &Host{metrics: set}
	dead := func(kind protocol.Kind, reason string) {
		h.deadLetter(actors.DeadLetter{Envelope: &protocol.Envelope{Kind: kind}, Reason: reason})
	}
	dead(protocol.KindEvent, actors.ReasonQueueFull)
	dead(protocol.KindEvent, actors.ReasonDroppedOldest)
	dead(protocol.KindWake, actors.ReasonQueueFull)
	dead(protocol.KindEvent, actors.ReasonStopped)
	shows(t, set, `simd_dead_letters_total{kind="event"} 2`, `simd_dead_letters_total{kind="wake"} 1`,
		`simd_events_dropped_total{reason="queue_full"} 1`, `simd_events_dropped_total{reason="dropped_oldest"} 1`)
}
