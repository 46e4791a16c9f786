package schedule

import "testing"

// What may be wasted: 50 calls, and nine tenths of the share of all that were made. A call without a risk is made all the same.
func TestWasteIsBounded(t *testing.T) {
	for _, c := range []struct {
		calls, wasted int64
		risky, risk   float64
		ahead         int
		want          bool
	}{
		{0, 50, 0, 0.05, 0, true}, {0, 51, 0, 0.05, 0, false}, {0, 51, 0, 0, 0, true},
		{1000, 140, 0, 0.05, 0, true}, {1000, 141, 0, 0.05, 0, false}, {1000, 139, 8, 0.05, 0, false},
		{1000, 0, 0, 0.1, 0, true}, {1000, 0, 0, 0.11, 0, false},
		{1000, 0, 0, 0.05, hurry, true}, {1000, 0, 0, 0.051, hurry, false},
	} {
		w := newWaste(Config{Threshold: 0.1, MaxWasted: 0.1})
		w.calls, w.wasted, w.risky = c.calls, c.wasted, c.risky
		if w.allows(c.risk, c.ahead) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// The call goes first for whose turn others have waited longest, then the one whose turn has more calls to make.
func TestRanks(t *testing.T) {
	order := []Rank{{At: 1, Agent: 9}, {At: 2, Rest: 3, Agent: 9}, {At: 2, Rest: 1, Agent: 1}, {At: 2, Rest: 1, Agent: 2}}
	for i, a := range order {
		for k, b := range order {
			if a.Less(b) != (i < k) {
				t.Errorf("%+v before %+v: %t", a, b, a.Less(b))
			}
		}
	}
}
