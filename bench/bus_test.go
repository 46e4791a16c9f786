package bench

import "testing"

// The measurement measures, and what does not depend on the machine holds: one
// body for all, and no allocation per delivery but cells.
// A difference that is lost in the noise is 0, not a gain.
func TestDifferencesAreNotNegative(t *testing.T) {
	one, other := &side{wall: []float64{1, 5}, cpu: []float64{2, 2}, alloc: []float64{0, 0}}, &side{wall: []float64{3, 3}, cpu: []float64{3, 1}, alloc: []float64{1, 0}}
	if s := one.less(other).spread(); s.Min != 0 || s.Max != 2 || s.CPU < 0 || s.Allocs < 0 {
		t.Errorf("%+v", s)
	}
}

func TestBus(t *testing.T) {
	b, err := RunBus(BusOptions{Subscribers: 2000, Types: 100, Subscriptions: 10_000, Rounds: 2, Filterings: 2000})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Spread{"fan out": b.FanOut, "pointer": b.Pointer, "route": b.Route, "alone": b.RouteAlone, "per subscriber": b.FilterSelf} {
		if s.Median <= 0 || s.Min > s.Median || s.Max < s.Median {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if b.FanOut.Allocs > 1.1 {
		t.Errorf("%.2f allocations for one delivery, want the cell at most", b.FanOut.Allocs)
	}
	if len(b.Filters) != 2 || b.Decode.Median <= 0 || b.Decode.Allocs < 4 || b.Filters[0].First.Allocs < b.Decode.Allocs || b.Filters[1].More.Allocs > 3 {
		t.Errorf("decoding %+v, filters %+v: the first pays for the decoding, one more does not", b.Decode, b.Filters)
	}
	if b.BodyBytes < letterBytes/2 || b.Bytes > float64(b.BodyBytes)/8 {
		t.Errorf("%.0f bytes allocated for one delivery of a body of %d", b.Bytes, b.BodyBytes)
	}
	if b.FanOutRatio <= 0 || b.RouteRatio <= 0 {
		t.Errorf("ratios %v and %v", b.FanOutRatio, b.RouteRatio)
	}
}
