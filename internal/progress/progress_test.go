package progress

import (
	"testing"
	"time"
)

// On the realtime clock time passes between two waves; on the virtual clock it
// passes as fast as this process makes it, also of a run that was resumed.
func TestTimePassesBetweenWaves(t *testing.T) {
	t0 := time.Unix(1000, 0)
	for _, c := range []struct {
		realtime bool
		scene    []int64 // seconds, one look a second
		at       int64
		rate     float64
	}{
		{realtime: true, scene: []int64{3, 3, 3}, at: 5, rate: 1},
		{realtime: true, scene: []int64{3, 4, 4}, at: 5, rate: 1},
		{scene: []int64{100, 100, 100}, at: 100, rate: 0},
		{scene: []int64{100, 110, 120}, at: 120, rate: 10},
	} {
		p := &progressLine{began: t0}
		var at int64
		var rate float64
		for i, s := range c.scene {
			at, rate = p.passed(t0.Add(time.Duration(i)*time.Second), s*int64(time.Second), c.realtime)
		}
		if at != c.at*int64(time.Second) || rate != c.rate {
			t.Errorf("%+v: at %d, rate %g", c, at, rate)
		}
	}
}
