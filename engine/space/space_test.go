package space_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

// crew are n agents with the names a0, a1 and so on.
type crew int

func (c crew) Size() int            { return int(c) }
func (c crew) Name(o uint32) string { return fmt.Sprintf("a%d", o) }
func (c crew) Ordinal(id string) (o uint32, ok bool) {
	n, err := fmt.Sscanf(id, "a%d", &o)
	return o, err == nil && n == 1 && int(o) < int(c) && c.Name(o) == id
}

const tick = time.Second

func mapOf(t testing.TB, d *ground.Definition, rows ...string) *ground.Map {
	t.Helper()
	var text []byte
	if len(rows) > 0 {
		text = []byte(strings.Join(rows, "\n"))
	}
	m, faults := ground.New(d, text)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return m
}

// world is a state that decides, and one that folds what it decided.
type world struct {
	*space.State
	folded *space.State
	m      *ground.Map
	crew   crew
	now    protocol.Time
	codec  *protocol.Codec
	// far is the distance of two cells, of who is near; false = they are not near.
	far func(a, b uint32) (int, bool)
}

func newWorld(m *ground.Map, starts []uint32, n int) *world {
	return &world{State: space.NewState(m, starts, crew(n), tick), folded: space.NewState(m, starts, crew(n), tick), m: m, crew: crew(n), codec: protocol.NewCodec(space.Facts()),
		far: func(a, b uint32) (int, bool) {
			x, y := m.At(a)
			ox, oy := m.At(b)
			d := ground.Distance(x, y, ox, oy)
			return d, d <= m.Radius
		}}
}

func (w *world) wave(t fataler, requests ...space.Request) []protocol.Fact {
	w.now = w.now.Add(tick)
	facts, err := w.Decide(w.now, requests)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, f := range facts {
		raw, err := w.codec.Marshal(f)
		if err != nil {
			t.Fatalf("%v", err)
		}
		back, err := w.codec.ReadFact(f.FactKind(), raw)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if err := w.folded.Apply(back.(space.Fact)); err != nil {
			t.Fatalf("fold: %v", err)
		}
	}
	return facts
}

type fataler interface{ Fatalf(string, ...any) }

func (w *world) bytes(t fataler, s *space.State) []byte {
	raw, err := s.Snapshot(w.codec)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return raw
}

func (w *world) cell(o uint32) string {
	x, y, ok := w.Share().Where(o)
	if !ok {
		return "nowhere"
	}
	return fmt.Sprintf("%d,%d", x, y)
}

func ask(who, to string) space.Request { return space.Request{ID: "r", By: who, Agent: who, To: to} }

func at(m *ground.Map, x, y int) uint32 { return m.Cell(x, y) + 1 }

// TestWalk: known answers of one walk around a wall, at speed 2.
func TestWalk(t *testing.T) {
	m := mapOf(t, &ground.Definition{Grid: &ground.Grid{Width: 5, Height: 3}, Speed: 2, Places: map[string]ground.Place{"inn": {At: []int64{4, 0}}}},
		"..#..",
		"..#..",
		".....")
	w := newWorld(m, []uint32{at(m, 0, 0), at(m, 4, 2)}, 3)
	facts := w.wave(t, ask("a0", "inn"))
	if out := facts[0].(*space.SetOut); out.Path != "3311" {
		t.Errorf("%+v", out)
	}
	var trace []string
	for w.Next() != 0 {
		facts = w.wave(t)
		trace = append(trace, w.cell(0))
	}
	if got := strings.Join(trace, " "); got != "2,2 4,0" {
		t.Errorf("steps: %s", got)
	}
	moved, stopped := facts[0].(*space.Moved), facts[1].(*space.Stopped)
	if len(moved.Crossed) != 1 || moved.Crossed[0].Entered != "inn" || stopped.Reason != space.ReasonArrived || stopped.Place != "inn" {
		t.Errorf("%+v %+v", moved, stopped)
	}
	if answer, tells := stopped.Answers(); !tells || answer.To != "a0" || !answer.Wakes {
		t.Errorf("the agent is not told: %+v", answer)
	}
}

// TestRefused: what cannot be is a fact that says why, and changes nothing.
func TestRefused(t *testing.T) {
	m := mapOf(t, &ground.Definition{Grid: &ground.Grid{Width: 4, Height: 3, Capacity: 1}, Places: map[string]ground.Place{"inn": {At: []int64{3, 1}, Capacity: 1}}},
		".#..",
		"##..",
		"..#.")
	w := newWorld(m, []uint32{at(m, 0, 0), at(m, 3, 1)}, 3)
	for to, want := range map[string]string{
		"moon": "there is no \"moon\"", "1,0": "blocked", "9,9": "there is no cell", "east": "blocked", "inn": "no way", "a2": "nowhere", "southeast": "blocked", "": "0 bytes",
	} {
		f, ok := w.wave(t, ask("a0", to))[0].(*space.Refused)
		if !ok || !strings.Contains(f.Message, want) || f.By != "a0" {
			t.Errorf("%q: %+v, want %q", to, f, want)
		}
	}
	if f := w.wave(t, ask("a2", "inn"))[0].(*space.Refused); !strings.Contains(f.Message, "nowhere") {
		t.Errorf("%+v", f)
	}
	put := space.Request{ID: "p", By: "gm", Agent: "a0", To: "inn", Put: true}
	if f := w.wave(t, put)[0].(*space.Refused); f.Kind != protocol.KindLimit {
		t.Errorf("%+v", f)
	}
	if err := w.Share().Check([]space.Request{{Agent: "a1", To: "nowhere", Put: true}, {Agent: "a0", To: "inn", Put: true}}); err != nil {
		t.Errorf("the place is free after the first: %v", err)
	}
	if err := w.Share().Check([]space.Request{{Agent: "a0", To: "2,0", Put: true}, {Agent: "a2", To: "2,0", Put: true}}); err == nil {
		t.Error("two are put into one cell")
	}
}

// TestWaits: who meets a full place waits, then hears why it stopped; who goes to an agent
// stops beside it.
func TestWaits(t *testing.T) {
	m := mapOf(t, &ground.Definition{Grid: &ground.Grid{Width: 6, Height: 1}, Places: map[string]ground.Place{"inn": {At: []int64{5, 0}, Capacity: 1}}})
	w := newWorld(m, []uint32{at(m, 3, 0), at(m, 5, 0), at(m, 0, 0)}, 3)
	w.wave(t, ask("a0", "inn"), ask("a2", "a0"))
	var last protocol.Fact
	for range space.MaxWaits + 2 {
		if facts := w.wave(t); len(facts) > 0 {
			last = facts[len(facts)-1]
		}
	}
	if f, ok := last.(*space.Stopped); !ok || f.Agent != 0 || f.Reason != space.ReasonFull || w.cell(0) != "4,0" {
		t.Errorf("%+v at %s", last, w.cell(0))
	}
	if w.cell(2) != "2,0" || w.Next() != 0 {
		t.Errorf("a2 stands at %s", w.cell(2))
	}
}

// Promises 1, 2, 3 and 4 over random maps, agents and requests: nobody is faster than speed
// but who is put, cells and places hold no more than they take, the index finds what a search
// of all finds, and the fold of the facts is the state that decided them, also from a snapshot.
func TestRandomWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(1, 40).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height")
		rows := make([]string, height)
		for y := range rows {
			row := make([]byte, width)
			for x := range row {
				row[x] = "...#"[rapid.IntRange(0, 3).Draw(t, "cell")]
			}
			rows[y] = string(row)
		}
		d := &ground.Definition{Grid: &ground.Grid{Width: int64(width), Height: int64(height), Capacity: int64(rapid.IntRange(0, 2).Draw(t, "capacity"))},
			Speed: int64(rapid.IntRange(1, 3).Draw(t, "speed")), Perception: ground.Perception{Radius: int64(rapid.IntRange(0, 9).Draw(t, "radius")), Types: []string{"said"}},
			Places: map[string]ground.Place{"inn": {At: []int64{0, 0}, Size: []int64{int64(min(width, 4)), int64(min(height, 3))}, Capacity: int64(rapid.IntRange(0, 3).Draw(t, "inn"))}}}
		m, faults := ground.New(d, []byte(strings.Join(rows, "\n")))
		if len(faults) > 0 {
			t.Skip("every cell of the place is blocked")
		}
		n := rapid.IntRange(1, 20).Draw(t, "agents")
		starts := make([]uint32, n)
		fill := m.Filling()
		for o := range starts {
			if x, y := rapid.IntRange(0, width-1).Draw(t, "x"), rapid.IntRange(0, height-1).Draw(t, "y"); m.Free(x, y) {
				if cells, err := fill.Spread(fmt.Sprintf("%d,%d", x, y), 1); err == nil {
					starts[o] = cells[0]
				}
			}
		}
		w := newWorld(m, starts, n)
		for range rapid.IntRange(1, 25).Draw(t, "waves") {
			before := w.Share()
			var requests []space.Request
			for range rapid.IntRange(0, 4).Draw(t, "requests") {
				who := fmt.Sprintf("a%d", rapid.IntRange(0, n).Draw(t, "who"))
				to := rapid.SampledFrom([]string{"inn", "stay", "east", "northwest", "nowhere", fmt.Sprintf("%d,%d", rapid.IntRange(0, width).Draw(t, "tx"), rapid.IntRange(0, height).Draw(t, "ty")), fmt.Sprintf("a%d", rapid.IntRange(0, n).Draw(t, "other"))}).Draw(t, "to")
				requests = append(requests, space.Request{ID: "r", By: who, Agent: who, To: to, Put: rapid.IntRange(0, 5).Draw(t, "put") == 0})
			}
			facts := w.wave(t, requests...)
			put := map[uint32]bool{}
			for _, f := range facts {
				if x, is := f.(*space.Put); is {
					put[x.Agent] = true
				}
			}
			w.holds(t, before, put)
		}
	})
}

// holds checks the promises after a wave.
func (w *world) holds(t *rapid.T, before *space.View, put map[uint32]bool) {
	now := w.Share()
	cells, inside := map[string]int{}, 0
	inn, _ := w.m.Place("inn")
	for o := range uint32(w.crew) {
		x, y, is := now.Where(o)
		if !is {
			continue
		}
		cells[w.cell(o)]++
		if inn.Has(x, y) {
			inside++
		}
		if !w.m.Free(x, y) {
			t.Fatalf("a%d stands on a blocked cell", o)
		}
		if bx, by, was := before.Where(o); !put[o] && (!was || ground.Distance(x, y, bx, by) > w.m.Speed) {
			t.Fatalf("a%d went from %d,%d to %d,%d in a tick of speed %d", o, bx, by, x, y, w.m.Speed)
		}
	}
	for cell, n := range cells {
		if w.m.Capacity > 0 && n > w.m.Capacity {
			t.Fatalf("%d agents at %s", n, cell)
		}
	}
	if inn.Capacity > 0 && inside > inn.Capacity || inside != now.Inside(0) {
		t.Fatalf("%d agents in the inn, counted %d, capacity %d", inside, now.Inside(0), inn.Capacity)
	}
	w.folds(t)
}

// folds checks what everybody sees, and that the fold of the facts is the state, also from a
// snapshot.
func (w *world) folds(t *rapid.T) {
	now := w.Share()
	for o := range uint32(w.crew) {
		w.sees(t, now, o)
	}
	raw := w.bytes(t, w.State)
	if !bytes.Equal(raw, w.bytes(t, w.folded)) || w.Next() != w.folded.Next() {
		t.Fatalf("the fold has another state")
	}
	back, err := space.Restore(w.m, w.crew, tick, w.codec, raw)
	if err != nil || !bytes.Equal(raw, w.bytes(t, back)) {
		t.Fatalf("restored: %v", err)
	}
	w.folded = back // and go on from there
}

// sees compares the index with a search of all agents.
func (w *world) sees(t *rapid.T, now *space.View, o uint32) {
	x, y, is := now.Where(o)
	list, all := now.Near(o, 5)
	var want []space.Neighbour
	heard := []uint32{}
	for other := range uint32(w.crew) {
		ox, oy, there := now.Where(other)
		d, near := 0, false
		if is && there {
			d, near = w.far(w.m.Cell(x, y), w.m.Cell(ox, oy))
		}
		if near && other != o {
			want = append(want, space.Neighbour{Agent: other, X: ox, Y: oy, Distance: d})
		}
		if !there || near {
			heard = append(heard, other)
		}
	}
	slices.SortStableFunc(want, func(a, b space.Neighbour) int { return a.Distance - b.Distance })
	if all != len(want) || !slices.Equal(list, want[:min(len(want), 5)]) {
		t.Fatalf("a%d sees %v of %d, want %v", o, list, all, want)
	}
	got, bounded, err := now.Hearers("said", w.crew.Name(o), "")
	if err != nil || bounded != is || is && !slices.Equal(got, heard) {
		t.Fatalf("a%d is heard by %v, %v, %v; want %v", o, got, bounded, err, heard)
	}
}

// Promise 4: a fact of another project is an error, and no panic.
func TestForeignFacts(t *testing.T) {
	m := mapOf(t, &ground.Definition{Grid: &ground.Grid{Width: 4, Height: 4}})
	w := newWorld(m, []uint32{at(m, 0, 0)}, 1)
	for _, f := range []space.Fact{
		&space.SetOut{Agent: 0, X: 3, Y: 3, Path: "9"}, &space.SetOut{Agent: 0, X: 9, Y: 9}, &space.SetOut{Agent: 7}, &space.SetOut{Agent: 0, X: 1, Y: 1, Path: "22"},
		&space.Moved{Steps: protocol.Encode([]any{int64(0), int64(1), int64(1)})}, &space.Moved{Steps: protocol.Encode([]any{int64(0)})}, &space.Moved{Steps: protocol.Encode("x")},
		&space.Put{Agent: 9}, &space.Put{Agent: 0, X: -1},
	} {
		if err := w.folded.Apply(f); protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for _, raw := range []string{"", "\x92\xc4\x04\xff\xff\xff\xff\x90", "\x92\xc4\x08\x01\x00\x00\x00\x01\x00\x00\x00\x90"} {
		if _, err := space.Restore(m, crew(1), tick, w.codec, protocol.Raw(raw)); err == nil {
			t.Errorf("%q is a snapshot", raw)
		}
	}
}

// A view does not change when the state does (the pages of a share).
func TestViewStays(t *testing.T) {
	m := mapOf(t, &ground.Definition{Grid: &ground.Grid{Width: 9, Height: 9}})
	w := newWorld(m, []uint32{at(m, 0, 0), at(m, 1, 1)}, 2)
	before := w.Share()
	w.wave(t, ask("a0", "8,8"))
	w.wave(t)
	if x, y, _ := before.Where(0); x != 0 || y != 0 {
		t.Errorf("the view moved to %d,%d", x, y)
	}
	if _, _, walks := before.Goal(0); walks || w.cell(0) == "0,0" {
		t.Errorf("a0 stands at %s", w.cell(0))
	}
}

// Promise 5: a step of one agent among a million, and a look, take no more than among a few:
// what they allocate is counted, which no load of the machine changes.
func TestCostOfOne(t *testing.T) {
	const many = 1 << 18
	m := mapOf(t, &ground.Definition{Grid: &ground.Grid{Width: 1024, Height: 1024}, Perception: ground.Perception{Radius: 4}})
	starts, err := m.Filling().Spread("0,0..1023,1023", many)
	if err != nil {
		t.Fatal(err)
	}
	w := space.NewState(m, starts, crew(many), tick)
	now := protocol.Time(0)
	looks := testing.AllocsPerRun(20, func() { w.Share().Near(many/2, 5) })
	steps := testing.AllocsPerRun(20, func() {
		now = now.Add(tick)
		if _, err := w.Decide(now, []space.Request{ask("a7", "east")}); err != nil {
			t.Fatal(err)
		}
	})
	if looks > 20 || steps > 60 {
		t.Errorf("a look makes %v objects, a step %v", looks, steps)
	}
}
