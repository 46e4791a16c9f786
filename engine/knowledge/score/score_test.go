package score

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Promises 1 and 2: what raises a rank is bounded and grows with what it stands for.
func TestRises(t *testing.T) {
	for _, c := range []struct{ helped, used, want int64 }{{0, 0, 0}, {0, 5, 0}, {1, 1, 206_543}, {9, 10, 595_850}, {90, 100, 825_632}, {1_000_000, 1_000_000, 999_996}} {
		if got := LowerBound(c.helped, c.used); got < c.want-200 || got > c.want+200 {
			t.Errorf("%d of %d: %d, want %d", c.helped, c.used, got, c.want)
		}
	}
	for _, c := range []struct{ age, half, want int64 }{{0, 10, 1_000_000}, {10, 10, 500_000}, {5, 10, 707_106}, {20, 10, 250_000}, {1000, 10, 0}, {math.MaxInt64, 1, 0}, {1, math.MaxInt64, 1_000_000}} {
		if got := Halved(c.age, c.half); got < c.want-1 || got > c.want {
			t.Errorf("age %d, half life %d: %d, want %d", c.age, c.half, got, c.want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		used := rapid.Int64Range(1, 1_000_000).Draw(rt, "used")
		helped := rapid.Int64Range(0, used).Draw(rt, "helped")
		n, p := float64(used), float64(helped)/float64(used)
		want := (p + 1.9208/n - 1.96*math.Sqrt(p*(1-p)/n+0.9604/n/n)) / (1 + 3.8416/n)
		if got := float64(LowerBound(helped, used)) / 1e6; math.Abs(got-max(want, 0)) > 0.002 {
			rt.Fatalf("%d of %d: %v, want %v", helped, used, got, want)
		}
		half := rapid.Int64Range(1, 1<<52).Draw(rt, "half")
		age := rapid.Int64Range(0, 1<<60).Draw(rt, "age")
		if a, b := Halved(age, half), Halved(age+rapid.Int64Range(0, 1<<60).Draw(rt, "older"), half); a < b || a > Million || b < 0 {
			rt.Fatalf("recency grew with age: %d, %d", a, b)
		}
	})
}

// Enough is the least score that is enough.
func TestEnough(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		scaled, millionths := rapid.Int64Range(0, 1<<50).Draw(rt, "scaled"), rapid.Int64Range(Million, 10*Million).Draw(rt, "millionths")
		got := Enough(scaled, millionths)
		if Scaled(got, millionths) < scaled || got > 0 && Scaled(got-1, millionths) >= scaled {
			rt.Fatalf("%d: gives %d; one less %d", got, Scaled(got, millionths), Scaled(got-1, millionths))
		}
	})
}
