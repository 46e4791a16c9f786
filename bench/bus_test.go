package bench

import "testing"

// The measurement measures, and what does not depend on the machine holds: one
// body for all, and no allocation per delivery but cells.
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
