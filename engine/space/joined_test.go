package space_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

func exits(list ...any) map[string]protocol.Duration {
	m := map[string]protocol.Duration{}
	for i := 0; i < len(list); i += 2 {
		m[list[i].(string)] = protocol.Duration(list[i+1].(int)) * protocol.Duration(time.Second)
	}
	return m
}

// TestJoined: known answers of a walk through exits, of what the agent perceives and is told.
func TestJoined(t *testing.T) {
	m := mapOf(t, &ground.Definition{Perception: ground.Perception{Exits: 1, Types: []string{"said"}}, Places: map[string]ground.Place{
		"cellar": {Exits: exits("tavern", 2), Capacity: 1}, "street": {Exits: exits("tavern", 3, "well", 2)},
		"tavern": {Exits: exits("cellar", 2, "street", 3, "well", 9)}, "well": {}}})
	place := func(name string) uint32 {
		a, _ := m.Place(name)
		return m.Cell(a.X, a.Y) + 1
	}
	w := newWorld(m, []uint32{place("tavern"), place("cellar"), place("street"), 0}, 4)
	if out := w.wave(t, ask("a0", "well"))[0].(*space.SetOut); out.Path != "11" || out.Due != w.now.Add(3*time.Second) {
		t.Errorf("%+v", out) // five seconds by the street, nine at once
	}
	var trace []string
	var last protocol.Fact
	for w.Next() != 0 {
		if facts := w.wave(t); len(facts) > 0 {
			trace, last = append(trace, fmt.Sprint(w.now.Sub(0).Seconds(), " ", w.Share().Surroundings(0)["place"])), facts[len(facts)-1]
		}
	}
	if got := strings.Join(trace, ", "); got != "4 street, 6 well" {
		t.Errorf("steps: %s", got)
	}
	told, _ := json.Marshal(last.(*space.Stopped).Told())
	if string(told) != `{"place":"well","reason":"arrived","to":"well"}` {
		t.Errorf("it is told %s", told)
	}
	w.wave(t, space.Request{ID: "p", By: "gm", Agent: "a0", To: "tavern", Put: true})
	got, _ := json.Marshal(w.Share().Look(0))
	if want := `{"cell":null,"exits":["cellar","street","well"],"more":0,"near":[{"agent":"a1","cell":null,"distance":1,"place":"cellar"},{"agent":"a2","cell":null,"distance":1,"place":"street"}],` +
		`"place":"tavern","places":[{"agents":1,"distance":0,"place":"tavern","seconds":0},{"agents":1,"distance":1,"place":"cellar","seconds":2},{"agents":1,"distance":1,"place":"street","seconds":3},{"agents":0,"distance":2,"place":"well","seconds":5}],"walking_to":null}`; string(got) != want {
		t.Errorf("it sees %s", got)
	}
	for to, want := range map[string]string{"north": "there are no cells", "0,0": "there are no cells", "moon": `there is no "moon"`, "a3": "nowhere"} {
		if f, ok := w.wave(t, ask("a0", to))[0].(*space.Refused); !ok || !strings.Contains(f.Message, want) {
			t.Errorf("%q: %+v, want %q", to, f, want)
		}
	}
	w.wave(t, space.Request{ID: "p", By: "gm", Agent: "a0", To: "well", Put: true})
	if f, ok := w.wave(t, ask("a0", "tavern"))[0].(*space.Refused); !ok || f.Message != "there is no way from well to tavern" {
		t.Errorf("%+v", f)
	}
}

// An instance id with two dots is no rectangle of cells.
func TestPutBesideDots(t *testing.T) {
	m := mapOf(t, &ground.Definition{Grid: &ground.Grid{Width: 3, Height: 1}, Places: map[string]ground.Place{"a..b": {At: []int64{2, 0}}}})
	w := newWorld(m, []uint32{at(m, 0, 0)}, 1)
	for to, want := range map[string]string{"a..b": "2,0", "1,0..1,0": "1,0"} {
		if w.wave(t, space.Request{ID: "p", By: "gm", Agent: "a0", To: to, Put: true}); w.cell(0) != want {
			t.Errorf("put at %s it is at %s", to, w.cell(0))
		}
	}
	if f, ok := w.wave(t, space.Request{ID: "p", By: "gm", Agent: "a0", To: "x..y", Put: true})[0].(*space.Refused); !ok || !strings.Contains(f.Message, "there is no \"x..y\" to go to") {
		t.Errorf("%+v", f)
	}
}

// TestAnotherExit: who turns to another exit begins its time anew; who asks again for the same
// one loses nothing; who meets a full place waits, and hears why it stopped.
func TestAnotherExit(t *testing.T) {
	m := mapOf(t, &ground.Definition{Places: map[string]ground.Place{"hall": {Exits: exits("attic", 4, "cellar", 4)}, "attic": {}, "cellar": {Capacity: 1}}})
	hall, _ := m.Place("hall")
	cellar, _ := m.Place("cellar")
	w := newWorld(m, []uint32{at(m, hall.X, 0), at(m, cellar.X, 0)}, 2)
	w.wave(t, ask("a0", "attic"))
	w.wave(t)
	w.wave(t, ask("a0", "attic"))
	if w.Next() != protocol.Time(5*time.Second) {
		t.Errorf("the step is due at %v", w.Next())
	}
	w.wave(t, ask("a0", "cellar"))
	if w.Next() != protocol.Time(8*time.Second) {
		t.Errorf("the other step is due at %v", w.Next())
	}
	var last protocol.Fact
	for w.Next() != 0 {
		if facts := w.wave(t); len(facts) > 0 {
			last = facts[len(facts)-1]
		}
	}
	if f, ok := last.(*space.Stopped); !ok || f.Reason != space.ReasonFull || f.Place != "hall" {
		t.Errorf("%+v", last)
	}
}

// Promises 1, 2, 3 and 4 on random maps without a grid: nobody passes an exit in less than its time, no
// place holds more than it takes, who is near is who stands so many exits away, every walk takes the
// shortest way, and the fold is the state.
func TestRandomExits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "places")
		name := func(i int) string { return string(rune('p' + i)) }
		d := &ground.Definition{Places: map[string]ground.Place{}, Perception: ground.Perception{Types: []string{"said"}, Exits: int64(rapid.IntRange(0, 3).Draw(t, "perceive"))}}
		const none = time.Hour
		takes, hops := make([][]time.Duration, n), make([][]time.Duration, n)
		for i := range n {
			p := ground.Place{Exits: map[string]protocol.Duration{}, Capacity: int64(rapid.IntRange(0, 3).Draw(t, "capacity"))}
			takes[i], hops[i] = make([]time.Duration, n), make([]time.Duration, n)
			for j := range n {
				takes[i][j], hops[i][j] = none, none
				if i == j {
					takes[i][j], hops[i][j] = 0, 0
				} else if rapid.IntRange(0, 2).Draw(t, "exit") == 0 {
					takes[i][j], hops[i][j] = time.Duration(rapid.IntRange(1, 90).Draw(t, "takes"))*100*time.Millisecond, 1
					p.Exits[name(j)] = protocol.Duration(takes[i][j])
				}
			}
			d.Places[name(i)] = p
		}
		shortest(takes)
		shortest(hops)
		m, faults := ground.New(d, nil)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		agents := rapid.IntRange(1, 10).Draw(t, "agents")
		starts, fill := make([]uint32, agents), m.Filling()
		for o := range starts {
			if cells, err := fill.Spread(name(rapid.IntRange(0, n-1).Draw(t, "start")), 1); err == nil {
				starts[o] = cells[0]
			}
		}
		w := newWorld(m, starts, agents)
		w.far = func(a, b uint32) (int, bool) { return int(hops[a][b]), hops[a][b] <= time.Duration(d.Perception.Exits) }
		left := make([]protocol.Time, agents) // since when it goes through an exit
		path := make([]string, agents)        // that is before it
		for range rapid.IntRange(1, 40).Draw(t, "waves") {
			var requests []space.Request
			for range rapid.IntRange(0, 2).Draw(t, "requests") {
				who := fmt.Sprintf("a%d", rapid.IntRange(0, agents-1).Draw(t, "who"))
				to := rapid.SampledFrom([]string{"stay", "north", name(rapid.IntRange(0, n-1).Draw(t, "to")), "a0", "nowhere"}).Draw(t, "end")
				requests = append(requests, space.Request{ID: "r", By: who, Agent: who, To: to, Put: rapid.IntRange(0, 5).Draw(t, "put") == 0})
			}
			at := map[uint32]int{}
			for o := range uint32(agents) {
				at[o], _, _ = w.Share().Where(o)
			}
			for _, f := range w.wave(t, requests...) {
				switch x := f.(type) {
				case *space.SetOut:
					if path[x.Agent] == "" || path[x.Agent][0] != x.Path[0] {
						left[x.Agent] = w.now
					}
					path[x.Agent] = x.Path
				case *space.Put:
					path[x.Agent], at[x.Agent] = "", int(x.X)
				case *space.Stopped:
					path[x.Agent] = ""
				case *space.Moved:
					err := x.All(func(o uint32, to, _ int) error {
						from := at[o]
						if hops[from][to] != 1 || w.now.Sub(left[o]) < takes[from][to] {
							return fmt.Errorf("a%d went from %s to %s in %v, the way takes %v", o, name(from), name(to), w.now.Sub(left[o]), takes[from][to])
						}
						left[o], path[o] = w.now, path[o][1:]
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			for i := range n {
				if c := m.Places[i].Capacity; c > 0 && w.Share().Inside(i) > c {
					t.Fatalf("%d agents in %s, capacity %d", w.Share().Inside(i), name(i), c)
				}
			}
			w.folds(t)
		}
	})
}

// shortest finds the shortest ways between all (Floyd and Warshall).
func shortest(d [][]time.Duration) {
	for k := range d {
		for i := range d {
			for j := range d {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
}
