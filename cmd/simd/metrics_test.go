package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tavernsim/cmd/simd/cli"
)

// running is a simd in this process whose stderr is read as it comes.
type running struct {
	addr string // of the metrics
	done chan struct{}
	code int
	out  bytes.Buffer
	err  strings.Builder // what came after the address
	read chan struct{}   // closed when err is whole
}

// said is what the run wrote to stderr, at its end.
func (r *running) said() string {
	<-r.read
	return r.err.String()
}

// runMeasured starts simd with --metrics on a free port.
func runMeasured(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{done: make(chan struct{}), read: make(chan struct{})}
	from, errw := io.Pipe()
	go func() {
		defer close(r.done)
		r.code = execute(context.Background(), append(args, "--metrics", "127.0.0.1:0"), strings.NewReader(""), &r.out, errw)
		errw.Close()
	}()
	lines := bufio.NewScanner(from)
	for r.addr == "" && lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "metrics at "); ok {
			r.addr = strings.TrimSuffix(url, "/metrics")
		}
	}
	if r.addr == "" {
		<-r.done
		t.Fatalf("exit %d without an address", r.code)
	}
	go func() {
		defer close(r.read)
		for lines.Scan() {
			fmt.Fprintln(&r.err, lines.Text())
		}
	}()
	return r
}

// get is an answer of the metrics server; "" when nobody listens any more.
func (r *running) get(t *testing.T, path string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Minute}
	resp, err := client.Get(r.addr + path)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("%s: %s %v", path, resp.Status, err)
	}
	return string(body)
}

var sampleLine = regexp.MustCompile(`^(simd_\w+)(?:\{([^}]*)\})? (\S+)$`)

// sum adds up the series of a metric that have the label (`kind="agent"`).
func sum(t *testing.T, scrape, name, label string) float64 {
	t.Helper()
	n, found := find(t, scrape, name, label)
	if !found {
		t.Errorf("no %s{%s} in the scrape", name, label)
	}
	return n
}

func find(t *testing.T, scrape, name, label string) (n float64, found bool) {
	t.Helper()
	for line := range strings.Lines(scrape) {
		if !strings.HasPrefix(line, name) { // the expression is slow under the race detector
			continue
		}
		m := sampleLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || m[1] != name || !strings.Contains(m[2], label) {
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		n, found = n+v, true
	}
	return n, found
}

// A run that is scraped shows its scene; nothing is left of the server when it
// has ended. It is interrupted as soon as it was looked at twice.
func TestRunShowsMetrics(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r := runMeasured(t, "run", "../../scenes/examples/market", "--agents", "100", "--ticks", "1000000", "--summary", "none", "--pprof", "--out", filepath.Join(t.TempDir(), "run"))
	defer r.interrupt(t)
	early := r.scrape(t, func(text string) bool { return wavesOf(t, text) >= 3 })
	enough := wavesOf(t, early) + 1000 // by then everything has moved that moves
	late := r.scrape(t, func(text string) bool { return wavesOf(t, text) >= enough || len(unmoved(t, early, text)) == 0 })
	for path, want := range map[string]string{"/readyz": "ready\n", "/livez": "alive\n", "/debug/pprof/cmdline": ""} {
		if got := r.get(t, path); !strings.HasPrefix(got, want) {
			t.Errorf("%s says %q, want %q", path, got, want)
		}
	}
	r.interrupt(t)
	checkScrape(t, early, late)
	promtool(t, late)
	if r.code != cli.ExitInterrupted {
		t.Errorf("exit %d: %s", r.code, r.said())
	}
	if r.get(t, "/metrics") != "" {
		t.Error("the server answers after the end of the run")
	}
}

// interrupt is a Ctrl-C for the run, which listens for it in this process, and waits
// for its end.
func (r *running) interrupt(t *testing.T) {
	t.Helper()
	select {
	case <-r.done:
		return
	default:
	}
	me, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = me.Signal(os.Interrupt)
	}
	if err != nil {
		t.Error(err)
	}
	<-r.done
}

// scrape reads the metrics until they are what is looked for.
func (r *running) scrape(t *testing.T, ok func(text string) bool) string {
	t.Helper()
	for {
		text := r.get(t, "/metrics")
		if text == "" {
			<-r.done
			t.Fatalf("the run ended before it could be looked at: exit %d, %s", r.code, r.said())
		}
		if strings.Contains(text, "simd_sim_steps_total{") && ok(text) { // the scene is there
			return text
		}
	}
}

func wavesOf(t *testing.T, scrape string) float64 {
	return sum(t, scrape, "simd_sim_steps_total", `scene="market_day"`)
}

// unmoved lists what is in both scrapes the same.
func unmoved(t *testing.T, early, late string) (same []string) {
	t.Helper()
	for _, m := range moving() {
		a, _ := find(t, early, m.name, m.label) // what has not happened yet may have no series
		if b, _ := find(t, late, m.name, m.label); a >= b {
			same = append(same, fmt.Sprintf("%s{%s} went from %v to %v", m.name, m.label, a, b))
		}
	}
	return same
}

type series struct{ name, label string }

// moving are the series that grow while a scene runs.
func moving() []series {
	return []series{
		{"simd_agent_deliberations_total", `outcome="ok",profile="market_trader"`},
		{"simd_agent_deliberation_duration_seconds_count", `profile="market_trader"`},
		{"simd_agent_deliberation_stage_duration_seconds_count", `stage="queue"`},
		{"simd_agent_deliberation_stage_duration_seconds_count", `stage="decide"`},
		{"simd_agent_deliberation_stage_duration_seconds_count", `stage="model"`},
		{"simd_agent_deliberation_stage_duration_seconds_count", `stage="apply"`},
		{"simd_agent_deliberation_stage_duration_seconds_count", `stage="merge"`},
		{"simd_tool_calls_total", `outcome="requested",tool="RequestWorldStateUpdateTool"`},
		{"simd_events_published_total", `event_type="market.gossip",source="agent"`},
		{"simd_events_delivered_total", `event_type="market.gossip"`},
		{"simd_world_updates_total", `op="add",outcome="applied"`},
		{"simd_world_commits_total", `scene="market_day"`},
		{"simd_world_update_duration_seconds_count", ""},
		{"simd_llm_requests_total", `outcome="ok",provider="scripted"`},
		{"simd_llm_tokens_total", `token_type="output"`},
		{"simd_scene_facts_total", `kind="agent.turn_ended"`},
		{"simd_sim_steps_total", `scene="market_day"`},
		{"simd_sim_seconds_total", `scene="market_day"`},
		{"simd_sim_time_seconds", `scene="market_day"`},
		{"simd_step_duration_seconds_count", `scene="market_day"`},
		{"simd_step_phase_duration_seconds_count", `phase="turns"`},
		{"simd_step_phase_duration_seconds_count", `phase="world"`},
		{"simd_step_phase_duration_seconds_count", `phase="events"`},
		{"simd_step_phase_duration_seconds_count", `phase="keep"`},
		{"simd_journal_events_total", ""},
		{"simd_journal_written_bytes_total", ""},
		{"simd_journal_commit_duration_seconds_count", `sync="process"`},
		{"simd_pebble_wal_written_bytes_total", ""},
	}
}

// checkScrape holds what must have moved between two scrapes, and how metrics
// belong together.
func checkScrape(t *testing.T, early, late string) {
	t.Helper()
	for _, what := range unmoved(t, early, late) {
		t.Error(what)
	}
	for _, is := range []struct {
		name, label string
		want        float64
	}{
		{"simd_agents", `profile="market_trader"`, 100},
		{"simd_ready", "", 1},
		{"simd_scenes", `state="running"`, 1},
		{"simd_scenes", "", 1},
		{"simd_replay_events_total", "", 0},
		{"simd_metrics_label_overflow_total", "", 0},
		{"simd_dead_letters_total", "", 0},
		{"simd_events_published_total", `event_type="other"`, 0},
		{"simd_tool_calls_total", `tool="other"`, 0},
	} {
		if got := sum(t, late, is.name, is.label); got != is.want {
			t.Errorf("%s{%s} is %v, want %v", is.name, is.label, got, is.want)
		}
	}
	if strings.Contains(late, `profile="$scene"`) {
		t.Error("the scene's own workflows are counted as an agent's")
	}
}

// promtool lints a scrape where the program is installed.
func promtool(t *testing.T, scrape string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		return
	}
	c := exec.Command(path, "check", "metrics")
	c.Stdin = strings.NewReader(scrape)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// What the metrics flags refuse is the command line's fault, before anything is
// written.
func TestMetricsFlags(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--pprof"}, "--pprof needs --metrics"},
		{[]string{"--metrics", "nowhere"}, `address "nowhere"`},
		{[]string{"--metrics", ":70000"}, `address ":70000"`},
		{[]string{"--metrics", "0.0.0.0:0", "--pprof"}, "on loopback only"},
	} {
		var out, errw bytes.Buffer
		dir := filepath.Join(t.TempDir(), "run")
		code := execute(context.Background(), append([]string{"run", "../../scenes/examples/market", "--out", dir}, c.args...), strings.NewReader(""), &out, &errw)
		if code != cli.ExitUsage || !strings.Contains(errw.String(), c.says) {
			t.Errorf("%v: exit %d, %s", c.args, code, &errw)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: the run directory: %v, want none", c.args, err)
		}
	}
}
