package town

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
)

func compare(t *testing.T, tr *Trace, slots int) map[string]Result {
	t.Helper()
	c, err := Compare(context.Background(), tr, slots, func(string, float64) {})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Result{}
	for _, r := range c.Schedules {
		out[r.Schedule] = r
	}
	return out
}

// TestGoals are what the schedules have to show, as means of two towns; tracked and
// speculative are the machine. SIMD_TEST_LONG=1 takes five, and adds towns of 100 agents.
// They are deterministic: a change that misses one has changed a policy or the town.
// Promise 2.
func TestGoals(t *testing.T) {
	type goal struct {
		hour         Hour
		agents       int
		share, speed float64
		toPublished  float64
	}
	goals := []goal{{Busy, 25, 0.90, 2.5, 1.01}, {Quiet, 25, 0.86, 0, 1.01}}
	seeds := 2
	if os.Getenv("SIMD_TEST_LONG") != "" {
		seeds = 5
		goals = append(goals, goal{Busy, 100, 0.90, 0, 1.01}, goal{Quiet, 100, 0.86, 0, 1.01})
	}
	if testing.Short() {
		goals, seeds = []goal{{Quiet, 25, 0.7, 0, 1.05}}, 1 // one town is no mean
	}
	for _, g := range goals {
		var share, wasted, speed, toPublished float64
		for seed := range uint64(seeds) {
			r := compare(t, Generate(g.agents, StepsOfAnHour, g.hour, seed+1), 64)
			n := float64(seeds)
			share += r[Speculative].OfOracle / n
			wasted += r[Speculative].Wasted / n
			speed += r[Speculative].ToBarrier / n
			toPublished += r[Tracked].Seconds / r[Published].Seconds / n
			if r[Tracked].Wasted != 0 || r[Tracked].Undone != 0 {
				t.Errorf("%v: tracked wasted calls: %+v", g, r[Tracked])
			}
		}
		t.Logf("%v: share %.3f, wasted %.3f, to the barrier %.2f, tracked to published %.3f", g, share, wasted, speed, toPublished)
		if share < g.share || wasted > 0.10 || speed < g.speed || toPublished > g.toPublished {
			t.Errorf("%v: missed", g)
		}
	}
}

// TestSmall: two agents who never meet take as long as the longer of them; the barrier
// takes as long as the longest turn of every step. With one slot all take the same, as
// slots are given in one order.
// Promise 4.
func TestSmall(t *testing.T) {
	const text = `{"format": "simd-town 1", "agents": 2, "steps": 3, "width": 100, "height": 10, "radius": 4, "speed": 1, "base_seconds": 0, "token_seconds": 1}
{"agent": 0, "place": [0, 0]}
{"agent": 1, "place": [90, 0]}
{"step": 0, "agent": 0, "calls": [10, 2]}
{"step": 1, "agent": 0, "to": [1, 1], "calls": [3]}
{"step": 1, "agent": 1, "calls": [8]}
`
	tr, err := Read(strings.NewReader(text), "small")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{Serial: 23, Barrier: 20, Published: 15, Tracked: 15, Speculative: 15, Oracle: 15, CriticalPath: 15}
	for name, r := range compare(t, tr, 2) {
		if r.Seconds != want[name] {
			t.Errorf("%s takes %v s, want %v", name, r.Seconds, want[name])
		}
	}
	for name, r := range compare(t, tr, 1) {
		if name != CriticalPath && r.Seconds != 23 {
			t.Errorf("with one slot %s takes %v s, want 23", name, r.Seconds)
		}
	}
}

// TestMeeting: who stands beside another waits for it under every schedule, and the
// bet on it is lost: nobody gains by being wrong.
// Promise 3.
func TestMeeting(t *testing.T) {
	const text = `{"format": "simd-town 1", "agents": 2, "steps": 2, "width": 100, "height": 10, "radius": 4, "speed": 1, "base_seconds": 0, "token_seconds": 1}
{"agent": 0, "place": [0, 0]}
{"agent": 1, "place": [1, 0]}
{"step": 0, "agent": 0, "calls": [10]}
{"step": 1, "agent": 1, "calls": [5]}
`
	tr, err := Read(strings.NewReader(text), "meeting")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range compare(t, tr, 4) {
		if r.Seconds != 15 || name == Tracked && r.Wasted > 0 {
			t.Errorf("%s takes %v s and wastes %v, want 15 s", name, r.Seconds, r.Wasted)
		}
	}
}

// TestPage: the example of the page is read, and its table of fields is complete.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/formats/town.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```jsonl\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("the page has no example")
	}
	tr, err := Read(strings.NewReader(string(example[1])), "example")
	if err != nil {
		t.Fatal(err)
	}
	if n, seconds := tr.Calls(); n != 4 || tr.Agents != 3 || tr.Place(2, 2).X != 11 || seconds < 1 {
		t.Errorf("the example has %d calls of %v s, and agent 2 is at %v", n, seconds, tr.Place(2, 2))
	}
	for _, field := range []string{"format", "agents", "steps", "width", "height", "radius", "speed", "base_seconds", "token_seconds", "agent", "place", "step", "to", "calls"} {
		if !strings.Contains(string(page), "`"+field+"`") {
			t.Errorf("the page has no row for %s", field)
		}
	}
}

// TestFaults: a trace with a fault is refused with its line.
func TestFaults(t *testing.T) {
	const head = `{"format": "simd-town 1", "agents": 1, "steps": 2, "width": 9, "height": 9, "radius": 4, "speed": 1, "base_seconds": 0, "token_seconds": 1}` + "\n"
	const place = `{"agent": 0, "place": [0, 0]}` + "\n"
	for text, want := range map[string]string{
		"":   "no first line",
		"7":  "faulty:1: the line cannot be a number",
		"{}": `format is ""`,
		strings.Replace(head, `"agents": 1`, `"agents": 0`, 1):                "0 agents",
		strings.Replace(head, `"radius": 4`, `"radius": -1`, 1):               "radius -1",
		strings.Replace(head, `"radius": 4`, `"radius": 1e99`, 1):             "faulty:1: radius cannot be a number 1e99",
		strings.Replace(head, `"token_seconds": 1`, `"token_seconds": -1`, 1): "token_seconds -1",
		head:                                     "where agent 0 begins",
		head + `{"agent": 0, "place": [9, 0]}`:   "outside of the map",
		head + place + `{"step": 2, "agent": 0}`: "want turns in the order",
		head + place + `{"step": 1, "agent": 0}` + "\n" + `{"step": 0, "agent": 0}`: "faulty:4:",
		head + place + `{"step": 0, "agent": 0, "to": [2, 0]}`:                      "its speed is 1",
		head + place + `{"step": 0, "agent": 0, "calls": [-1]}`:                     "-1 tokens",
		head + place + `{"step": 0, "agent": 0, "kalls": [1]}`:                      "kalls",
		head + place + `{"step": 0} {}`:                                             "more than one object",
		head + place + strings.Repeat(" ", maxLine+1):                               "token too long",
	} {
		if _, err := Read(strings.NewReader(text), "faulty"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want something with %q", text, err, want)
		}
	}
}

// TestTimelessCalls: calls that take no time give figures all the same, which JSON can say.
func TestTimelessCalls(t *testing.T) {
	tr, err := Read(strings.NewReader(`{"format": "simd-town 1", "agents": 1, "steps": 1, "width": 9, "height": 9, "radius": 4, "speed": 1, "base_seconds": 0, "token_seconds": 1}
{"agent": 0, "place": [0, 0]}
{"step": 0, "agent": 0, "calls": [0]}`), "timeless")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Run(t.Context(), tr, Barrier, 1, func(int) {}); err != nil || r.InFlight != 1 || r.Seconds != 0 {
		t.Error(r, err)
	}
}

// TestRepeatable: a town and its results depend on the arguments alone.
// Promise 1.
func TestRepeatable(t *testing.T) {
	a, b := Generate(50, 60, Busy, 3), Generate(50, 60, Busy, 3)
	x, y := compare(t, a, 8), compare(t, b, 8)
	for _, name := range Schedules() {
		if x[name] != y[name] {
			t.Errorf("%s: %+v and %+v", name, x[name], y[name])
		}
	}
}

// TestOptions: what the engine cannot play, and what would be shown twice or not at all, is refused.
func TestOptions(t *testing.T) {
	hours := []string{string(Busy)}
	for want, o := range map[string]Options{
		"--hour:":          {},
		"--hour late":      {Hours: []string{"late"}},
		"--hour busy":      {Hours: []string{"busy", "busy"}},
		"--agents 25":      {Hours: hours, Agents: []int{25, 25}},
		"--engine oracle":  {Hours: hours, Engine: []string{Oracle}, Compress: 1},
		"--engine tracked": {Hours: hours, Engine: []string{Tracked, Tracked}, Compress: 1},
		"--compress 1001":  {Hours: hours, Engine: []string{Tracked}, Compress: 1001},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", want, err)
		}
	}
}

// TestCancelled: a comparison ends with its context.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Compare(ctx, Generate(25, 60, Busy, 1), 8, func(string, float64) {}); err == nil {
		t.Error("it did not end")
	}
}
