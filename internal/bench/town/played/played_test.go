package played

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"tavernsim/engine/schedule"
	"tavernsim/internal/bench/town"
	"tavernsim/llm/limit"
)

// crossing are agents that come into each other's view and leave it, and one that talks for long.
func crossing(t *testing.T) *town.Trace {
	t.Helper()
	var text strings.Builder
	text.WriteString(`{"format": "simd-town 1", "agents": 4, "steps": 12, "width": 60, "height": 20, "radius": 4, "speed": 2, "base_seconds": 0.2, "token_seconds": 0.01}
{"agent": 0, "place": [0, 5]}
{"agent": 1, "place": [20, 5]}
{"agent": 2, "place": [20, 8]}
{"agent": 3, "place": [59, 19]}
`)
	for s := range 12 {
		fmt.Fprintf(&text, `{"step": %d, "agent": 0, "to": [%d, 5], "calls": [9, 2]}`+"\n", s, 2*s+2)
		if s%3 == 0 {
			fmt.Fprintf(&text, `{"step": %d, "agent": 1, "calls": [30]}`+"\n", s)
		}
		fmt.Fprintf(&text, `{"step": %d, "agent": 2, "to": [%d, 8], "calls": [%s1]}`+"\n", s, 20+s/2%2, strings.Repeat("1, ", 3*s))
	}
	tr, err := town.Read(strings.NewReader(text.String()), "crossing")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestPlay: the engine plays a trace under every schedule with one history; an agent asks as often as the
// trace says, and in each step perceives whom it should.
func TestPlay(t *testing.T) {
	tr := crossing(t)
	calls, _ := tr.Calls()
	var digest string
	for _, name := range town.Playable() {
		var mu sync.Mutex
		seen := map[[2]int]map[string]bool{} // what an agent perceives in a step
		m := &model{trace: tr, compression: 400, asked: func(step, agent int, text string) {
			if _, near, ok := strings.Cut(text, ": "); ok { // else the bare client asks
				mu.Lock()
				defer mu.Unlock()
				k := [2]int{step, agent}
				if seen[k] == nil {
					seen[k] = map[string]bool{}
				}
				seen[k][near] = true
			}
		}}
		p, err := play(context.Background(), tr, name, 8, m, func(float64) {})
		if err != nil {
			t.Fatal(name, err)
		}
		if digest == "" {
			digest = p.Digest
		}
		if p.Digest != digest || p.Made < calls || p.Seconds <= 0 || p.Bare < 1 {
			t.Errorf("%s: %+v, want digest %s and %d calls or more", name, p, digest, calls)
		}
		if name != town.Speculative && p.Wasted != 0 {
			t.Errorf("%s wasted %v of the calls", name, p.Wasted)
		}
		for step := range tr.Steps {
			for a := range tr.Agents {
				checkSeen(t, tr, name, step, a, seen[[2]int{step, a}])
			}
		}
	}
}

// checkSeen holds what an agent perceived in a step to the trace: of those that it perceived when it
// ran ahead, one is right.
func checkSeen(t *testing.T, tr *town.Trace, name string, step, a int, seen map[string]bool) {
	t.Helper()
	if n := len(tr.Tokens(step, a)); n == 0 || len(seen) != 1 && name != town.Speculative {
		if (n > 0) != (len(seen) > 0) || len(seen) > 1 {
			t.Errorf("%s: step %d, agent %d of %d calls perceived %v", name, step, a, n, seen)
		}
		return
	}
	var want []string
	for b := range tr.Agents {
		if b != a && near(tr.Place(step, a), tr.Place(step, b), tr.Radius) {
			want = append(want, fmt.Sprintf("a_%d", b))
		}
	}
	for text := range seen {
		var s struct {
			Cell [2]int32
			Near []struct{ Agent string }
		}
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		var near []string
		for _, n := range s.Near {
			near = append(near, n.Agent)
		}
		slices.Sort(near)
		if c := tr.Place(step, a); slices.Equal(near, want) && s.Cell == [2]int32{c.X, c.Y} {
			return
		}
	}
	t.Errorf("%s: step %d, agent %d at %v perceived %v, want %v", name, step, a, tr.Place(step, a), seen, want)
}

// TestPlayedPlaces: in a town that is made agents are where the trace says.
func TestPlayedPlaces(t *testing.T) {
	tr := town.Generate(25, 120, town.Busy, 1)
	var mu sync.Mutex
	var asked, elsewhere int
	m := &model{trace: tr, compression: 1000, asked: func(step, agent int, text string) {
		var s struct{ Cell [2]int32 }
		if _, near, ok := strings.Cut(text, ": "); ok && json.Unmarshal([]byte(near), &s) == nil {
			mu.Lock()
			defer mu.Unlock()
			asked++
			if (schedule.Cell{X: s.Cell[0], Y: s.Cell[1]}) != tr.Place(step, agent) {
				elsewhere++
			}
		}
	}}
	if _, err := play(context.Background(), tr, town.Barrier, 64, m, func(float64) {}); err != nil {
		t.Fatal(err)
	}
	if asked < 1000 || elsewhere > 0 {
		t.Errorf("%d of %d calls were made from elsewhere", elsewhere, asked)
	}
}

func near(a, b schedule.Cell, n int32) bool {
	return max(a.X-b.X, b.X-a.X, a.Y-b.Y, b.Y-a.Y) <= n
}

// TestPlaces: a scene has as many calls at once as there are slots.
func TestPlaces(t *testing.T) {
	for slots := 1; slots <= 1000; slots++ {
		n := places(slots)
		if got := n - n*limit.DefaultKept/100; got != slots {
			t.Fatalf("%d slots: an endpoint of %d lets out %d", slots, n, got)
		}
	}
}

// TestCancelled: a run ends with its context.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Play(ctx, crossing(t), town.Tracked, 8, 400, func(float64) {}); err == nil {
		t.Error("it did not end")
	}
}
