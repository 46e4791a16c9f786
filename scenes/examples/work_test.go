package examples_test

import (
	"slices"
	"testing"

	"tavernsim/engine/bus"
	"tavernsim/engine/tooltask"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/runner"
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
