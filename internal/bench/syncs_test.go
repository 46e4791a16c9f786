package bench

import (
	"testing"

	"tavernsim/persistence"
)

// A busy scene at power makes few syncs, however few agents it has: a thousand
// facts share one, or those of twenty milliseconds.
func TestFactsShareSyncs(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures, which says nothing under the race detector")
	}
	for _, agents := range []int{5, 100} {
		d, err := RunDeliberation(DeliberationOptions{Agents: agents, Ticks: int64(20_000 / agents), Durability: persistence.Power, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d agents: %d facts, %d syncs, %.0f facts each", agents, d.Facts, d.Syncs, d.PerSync)
		if most := d.Facts*3/2/1024 + int64(d.WallSeconds*50) + 5; d.Syncs == 0 || d.Syncs > most {
			t.Errorf("%d agents: %d syncs in %.1f s; want at most %d", agents, d.Syncs, d.WallSeconds, most)
		}
	}
	d, err := RunDeliberation(DeliberationOptions{Agents: 5, Ticks: 10, Dir: t.TempDir()})
	if err != nil || d.Syncs != 0 {
		t.Errorf("%d syncs at process, %v", d.Syncs, err)
	}
}
