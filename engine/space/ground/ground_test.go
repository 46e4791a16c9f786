package ground_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

func grid(w, h int64) *ground.Grid { return &ground.Grid{Width: w, Height: h} }

// Promise 1: each fault names its field.
func TestFaults(t *testing.T) {
	for want, d := range map[string]ground.Definition{
		": there is no grid, and there are no places": {},
		"grid: 5000 × 4 cells":                        {Grid: grid(5000, 4)},
		"perception exits: ":                          {Grid: grid(4, 4), Perception: ground.Perception{Exits: 1}},
		"places a exits: ":                            {Grid: grid(4, 4), Places: map[string]ground.Place{"a": {Exits: map[string]protocol.Duration{"b": 1}}}},
		"places a at: want two":                       {Grid: grid(4, 4), Places: map[string]ground.Place{"a": {At: []int64{1}}}},
		"places a size: want two":                     {Grid: grid(4, 4), Places: map[string]ground.Place{"a": {At: []int64{1, 1}, Size: []int64{1}}}},
		"places a: the place lies outside":            {Grid: grid(4, 4), Places: map[string]ground.Place{"a": {At: []int64{1, 1}, Size: []int64{9, 1 << 60}}}},
		"places b: the place overlaps":                {Grid: grid(4, 4), Places: map[string]ground.Place{"a": {At: []int64{1, 1}}, "b": {At: []int64{0, 0}, Size: []int64{2, 2}}}},
		"places north: the name":                      {Grid: grid(4, 4), Places: map[string]ground.Place{"north": {At: []int64{1, 1}}}},
		"places 1,2: the name":                        {Grid: grid(4, 4), Places: map[string]ground.Place{"1,2": {At: []int64{1, 1}}}},
		"speed: without a grid":                       {Places: joined(""), Speed: 1},
		"perception radius: without a grid":           {Places: joined(""), Perception: ground.Perception{Radius: 1}},
		"perception exits: 4, want":                   {Places: joined(""), Perception: ground.Perception{Exits: 4}},
		"places a exits c: there is no":               {Places: joined("c", time.Second)},
		"places a exits a: the exit leads":            {Places: joined("a", time.Second)},
		"places a exits b: 0s, want":                  {Places: joined("b", 0)},
		"places a exits b: 169h0m0s, want":            {Places: joined("b", 169*time.Hour)},
		"places a size: without a grid":               {Places: map[string]ground.Place{"a": {Size: []int64{1, 1}}}},
		"places a at: want two numbers":               {Places: map[string]ground.Place{"a": {At: []int64{1, -1}}}},
		"places north: the name of":                   {Places: map[string]ground.Place{"north": {}}},
		"perception types 0: the event type":          {Grid: grid(4, 4), Perception: ground.Perception{Types: []string{"a*b"}}},
	} {
		m, faults := ground.New(&d, nil)
		if m != nil || len(faults) != 1 || !strings.HasPrefix(text(faults[0]), want) {
			t.Errorf("%q: %v", want, faults)
		}
	}
	for want, rows := range map[string]string{
		"grid blocked: the file has 1 rows":         "....",
		"grid blocked: row 2 has 3":                 "....\n...",
		"grid blocked: row 1, character 3":          "..x.\n....",
		"places a: every cell of the place is bloc": "####\n####",
	} {
		_, faults := ground.New(&ground.Definition{Grid: grid(4, 2), Places: map[string]ground.Place{"a": {At: []int64{1, 1}}}}, []byte(rows))
		if len(faults) != 1 || !strings.HasPrefix(text(faults[0]), want) {
			t.Errorf("%q: %v", want, faults)
		}
	}
}

// joined are two places; the first one has an exit, unless to is empty.
func joined(to string, takes ...time.Duration) map[string]ground.Place {
	a := ground.Place{}
	if to != "" {
		a.Exits = map[string]protocol.Duration{to: protocol.Duration(takes[0])}
	}
	return map[string]ground.Place{"a": a, "b": {}}
}

func text(f ground.Fault) string {
	var words []string
	for _, s := range f.Steps {
		if i, is := s.(int); is {
			s = string(rune('0' + i))
		}
		words = append(words, s.(string))
	}
	return strings.Join(words, " ") + ": " + f.Message
}

// Promise 2: paths over random maps are as long as a search in all directions finds, and
// every step is open; there is one whenever that search finds one.
func TestPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 14).Draw(t, "w"), rapid.IntRange(1, 14).Draw(t, "h")
		rows := make([]string, h)
		for y := range rows {
			for range w {
				rows[y] += string("..#"[rapid.IntRange(0, 2).Draw(t, "cell")])
			}
		}
		m, faults := ground.New(&ground.Definition{Grid: grid(int64(w), int64(h))}, []byte(strings.Join(rows, "\n")))
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		x, y := rapid.IntRange(0, w-1).Draw(t, "x"), rapid.IntRange(0, h-1).Draw(t, "y")
		if !m.Free(x, y) {
			return
		}
		far := flood(m, x, y)
		var f ground.Finder
		for ty := range h {
			for tx := range w {
				if !m.Free(tx, ty) {
					continue
				}
				path, ok := f.Find(m, m.Cell(x, y), m.Cell(tx, ty))
				steps, reached := far[m.Cell(tx, ty)]
				if ok != reached || ok && (len(path) != steps || !m.Follows(m.Cell(x, y), path, tx, ty)) {
					t.Fatalf("from %d,%d to %d,%d: %q, want %d steps (%v)\n%s", x, y, tx, ty, path, steps, reached, strings.Join(rows, "\n"))
				}
			}
		}
	})
}

// flood counts the steps to all cells.
func flood(m *ground.Map, x, y int) map[uint32]int {
	far := map[uint32]int{m.Cell(x, y): 0}
	for list := []uint32{m.Cell(x, y)}; len(list) > 0; list = list[1:] {
		x, y := m.At(list[0])
		for d := range 8 {
			if dx, dy := ground.Step(d); m.Open(x, y, d) {
				next := m.Cell(x+dx, y+dy)
				if _, seen := far[next]; !seen {
					far[next] = far[list[0]] + 1
					list = append(list, next)
				}
			}
		}
	}
	return far
}

// Promise 3: on the largest map, a search that finds nothing ends after MaxSearch cells.
func TestSearchIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 200 MB")
	}
	rows := make([]string, ground.MaxSide)
	for y := range rows {
		rows[y] = strings.Repeat(".", ground.MaxSide-2) + "#."
	}
	m, faults := ground.New(&ground.Definition{Grid: grid(ground.MaxSide, ground.MaxSide)}, []byte(strings.Join(rows, "\n")))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var f ground.Finder
	if path, ok := f.Find(m, m.Cell(0, 0), m.Cell(ground.MaxSide-1, 0)); ok {
		t.Errorf("a path of %d steps through a wall", len(path))
	}
}

// Spread fills a rectangle evenly, passes over full cells, and says when there is no room.
func TestSpread(t *testing.T) {
	g := grid(4, 1)
	g.Capacity = 1
	m, _ := ground.New(&ground.Definition{Grid: g, Places: map[string]ground.Place{"inn": {At: []int64{2, 0}, Size: []int64{2, 1}, Capacity: 1}}}, []byte(".#.."))
	f := m.Filling()
	if cells, err := f.Spread("0,0..1,0", 1); err != nil || cells[0] != 1 {
		t.Error(cells, err)
	}
	if _, err := f.Spread("0,0", 1); err == nil || !strings.Contains(err.Error(), "grid.capacity") {
		t.Error(err)
	}
	if _, err := f.Spread("inn", 2); err == nil || !strings.Contains(err.Error(), "the place inn takes 1") {
		t.Error(err)
	}
	for _, bad := range []string{"moon", "3,0..0,0", "0,0..9,9", "1,0"} {
		if _, err := f.Spread(bad, 1); err == nil {
			t.Errorf("%s is a rectangle", bad)
		}
	}
}

// FuzzDefinition: no ground text and no numbers make the reader panic or accept a place
// outside of the grid.
func FuzzDefinition(f *testing.F) {
	f.Add("..#\n...", int64(3), int64(2), int64(0), int64(0), int64(1), int64(1), "inn")
	f.Fuzz(func(t *testing.T, text string, w, h, x, y, pw, ph int64, name string) {
		m, faults := ground.New(&ground.Definition{Grid: grid(w, h), Places: map[string]ground.Place{name: {At: []int64{x, y}, Size: []int64{pw, ph}}}}, []byte(text))
		if (m == nil) != (len(faults) > 0) {
			t.Fatal(faults)
		}
		if m == nil {
			return
		}
		if a := m.Places[0]; !m.In(a.X, a.Y) || !m.In(a.X+a.W-1, a.Y+a.H-1) || m.NameAt(a.X, a.Y) != name {
			t.Errorf("%+v", a)
		}
		if a, err := m.Rectangle(text); err == nil && !m.In(a.X, a.Y) {
			t.Errorf("%+v", a)
		}
	})
}
