package examples_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"tavernsim/engine/bus"
	"tavernsim/engine/space"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
)

// The workshop, whatever the seed: each part is done once although a fifth of the workers fails,
// a cancelled part leaves no result, and of a part one worker hears.
func TestWorkshop(t *testing.T) {
	for seed := range uint64(4) {
		sum := run(t, "workshop", runner.Options{Seed: &seed})
		if out := sum.Outcome; out == nil || out.Outcome != "delivered" || sum.Failed+sum.Tools.Failed != 0 {
			t.Errorf("seed %d: %+v, %d turns and %d calls failed", seed, out, sum.Failed, sum.Tools.Failed)
		}
		parts, _ := reported(t, sum, "parts").Value.(map[string]any)
		for name, made := range parts {
			if list, _ := made.([]any); len(list) != 1 || name == "bell" {
				t.Errorf("seed %d: %s has the results %v", seed, name, made)
			}
		}
		ended, taken, names := map[string]int{}, map[string]string{}, map[string]string{}
		codec := protocol.NewCodec(slices.Concat(tooltask.Facts(), bus.Facts()))
		if err := journal(t, sum.RunDir).Scan(persistence.Query{Kinds: []string{tooltask.FactOpened, tooltask.FactReported, tooltask.FactEnded, bus.FactRouted}}, func(r protocol.Record) error {
			f, err := codec.ReadFact(r.Kind, r.Data)
			switch x := f.(type) {
			case *tooltask.Opened:
				names[x.Task.ID] = x.Task.Assignment().Name
			case *tooltask.Reported:
				if by := taken[x.ID]; by != "" && by != x.By {
					t.Errorf("seed %d: %s is of %s and of %s", seed, x.ID, by, x.By)
				}
				taken[x.ID] = x.By
			case *tooltask.Ended:
				ended[names[x.ID]+" "+x.Status]++
				delete(names, x.ID)
			case *bus.Routed:
				if x.Type == "part.do" && x.Receivers.Len() != 1 {
					t.Errorf("seed %d: %d hear of a part", seed, x.Receivers.Len())
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		failed := 0
		for what, n := range ended {
			if !slices.Contains([]string{"bell cancelled"}, what) && what[len(what)-4:] != "done" {
				failed += n
			}
		}
		if len(parts) != 11 || ended["bell cancelled"] != 1 || ended["bell done"] != 0 || failed < 3 || len(names) != 0 {
			t.Errorf("seed %d: %d parts; ended %v; open %v", seed, len(parts), ended, names)
		}
	}
}

// The town, whatever the seed and however many live there: by the facts nobody hears anybody who
// is more than four cells away, and at ten everybody is in the cell in which the day began.
func TestTown(t *testing.T) {
	sizes := map[int]uint64{25: 3, 300: 1}
	if testing.Short() {
		sizes = map[int]uint64{25: 1}
	}
	for agents, seeds := range sizes {
		for seed := range seeds {
			set := scenestest.Settings{Seed: seed + 1, Agents: agents, Workers: 2}
			s := scenestest.New(t, load(t, "town"), "")
			s.Run(t, set)
			made := s.Made(t, set)
			cells, heard, walked := slices.Clone(made.Starts), 0, protocol.Time(0)
			far := func(a, b uint32) int {
				ax, ay := made.Space.At(cells[a] - 1)
				bx, by := made.Space.At(cells[b] - 1)
				return max(ax-bx, bx-ax, ay-by, by-ay)
			}
			s.Facts(t, func(r protocol.Record, fact protocol.Fact) {
				switch x := fact.(type) {
				case *space.Moved:
					walked = r.Time
					if err := x.All(func(o uint32, x, y int) error { cells[o] = made.Space.Cell(x, y) + 1; return nil }); err != nil {
						t.Fatal(err)
					}
				case *bus.Routed:
					if x.Type != "agent.said" {
						return
					}
					who, _ := made.Ordinal(x.Source)
					for o := range x.Receivers.All() {
						if heard++; far(who, o) > 4 {
							t.Fatalf("%d agents, seed %d: %s is heard %d cells away", agents, seed, x.Source, far(who, o))
						}
					}
				}
			}, space.FactMoved, bus.FactRouted)
			script, _ := s.Fold(t, set).Script()
			night := protocol.TimeOf(made.Simulation().StartTime).Add(16 * time.Hour)
			if script.Outcome == nil || script.Outcome.Outcome != "night" || walked >= night || heard < agents || !slices.Equal(cells, made.Starts) {
				t.Errorf("%d agents, seed %d: %+v, %d times somebody was heard, last steps at %s, cells %v, in the morning %v", agents, seed, script.Outcome, heard, walked, cells, made.Starts)
			}
		}
	}
}

// The trip to the tavern, which is a scene of its own, whatever the seed: who goes drinks twice
// there, is home before ten with its home and its trade, and nobody is lost or doubled; on one and
// two workers alike.
func TestTownTrip(t *testing.T) {
	for seed := range uint64(3) {
		digests := map[string]string{}
		for _, workers := range []int{1, 2} {
			s := scenestest.New(t, load(t, "town"), "evening")
			set := scenestest.Settings{Seed: seed + 1, Workers: workers}
			both := s.Beside(t, "evening", "tavern")
			for i, r := range both.Run(t, func(*scenestest.Scene) scenestest.Settings { return set }) {
				id := both[i].Def.Definition.ID
				if r.Err != nil || !r.Final || digests[id] != "" && digests[id] != r.Digest() {
					t.Fatalf("seed %d, %d workers, %s: %v, digest %s, before %s", seed, workers, id, r.Err, r.Digest(), digests[id])
				}
				digests[id] = r.Digest()
			}
			left, back := map[uint32]bool{}, map[uint32]bool{}
			both[0].Facts(t, func(_ protocol.Record, fact protocol.Fact) {
				switch x := fact.(type) {
				case *travel.Departed:
					left[x.Agent] = true
				case *travel.Arrived:
					back[x.Agent] = true
				}
			}, travel.FactDeparted, travel.FactArrived)
			state := both[0].Fold(t, set)
			at, script := state.Shown().Space(), outcome(state)
			for o, m := range state.Agents[:25] {
				x, y, there := at.Where(uint32(o))
				private := m.State.Private
				home := fmt.Sprintf("%d,%d", x, y)
				if mugs := private["mugs"]; !there || private["home"] != home || private["trade"] == "" || (mugs == int64(2)) != left[uint32(o)] || !left[uint32(o)] && mugs != int64(0) {
					t.Errorf("seed %d: %s is at %s, %t: %v", seed, m.ID.Instance, home, there, private)
				}
			}
			if script != "night" || len(left) == 0 || !maps.Equal(left, back) {
				t.Errorf("seed %d: outcome %q, left %v, back %v", seed, script, left, back)
			}
		}
	}
}

func outcome(state *machines.State) string {
	script, _ := state.Script()
	if script.Outcome == nil {
		return ""
	}
	return script.Outcome.Outcome
}
