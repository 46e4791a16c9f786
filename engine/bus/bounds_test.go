package bus

import (
	"slices"
	"testing"
	"time"

	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// Each bound of an event holds at its edge.
func TestBoundsOfAnEvent(t *testing.T) {
	s := channel(t, Config{MaxTargets: 2, MaxBodyBytes: 4}, map[string][]string{"a": {"x"}, "b": {}})
	for name, c := range map[string]struct {
		change func(*protocol.Draft)
		want   string
	}{
		"the lowest priority":  {func(d *protocol.Draft) { d.Priority = protocol.Low }, "a"},
		"a lower one":          {func(d *protocol.Draft) { d.Priority = protocol.Low - 1 }, "refused: invalid"},
		"the highest priority": {func(d *protocol.Draft) { d.Priority = protocol.Critical }, "a"},
		"a higher one":         {func(d *protocol.Draft) { d.Priority = protocol.Critical + 1 }, "refused: invalid"},
		"a full body":          {func(d *protocol.Draft) { d.Body = protocol.Encode("abc") }, "a"},
		"a larger one":         {func(d *protocol.Draft) { d.Body = protocol.Encode("abcd") }, "refused: size"},
		"all targets":          {func(d *protocol.Draft) { d.Targets = []string{"a", "b"} }, "a b"},
		"one more":             {func(d *protocol.Draft) { d.Targets = []string{"a", "b", "a"} }, "refused: size"},
	} {
		d := draft("", "x", nil)
		c.change(d)
		if f, _ := publish(t, s, d); heard(s, f) != c.want {
			t.Errorf("%s: %s, want %s", name, heard(s, f), c.want)
		}
	}
	d := draft("", "x", nil)
	d.TTL = protocol.MaxTTL + time.Hour
	if f, _ := publish(t, s, d); f.(*Routed).Expires != start.Add(protocol.MaxTTL) {
		t.Errorf("it lives until %s", f.(*Routed).Expires)
	}
}

// A rule that the scene takes back is a fact, once; then there is none to take back.
func TestArchitecture9_ThrottleTakenBack(t *testing.T) {
	s := channel(t, Config{Owner: "$scene"}, map[string][]string{"a": {"x"}})
	rule := throttle.Rule{Type: "x", Per: throttle.PerScene, Max: 1, Window: time.Minute, Action: throttle.Delay}
	var got []string
	for _, remove := range []bool{false, true, true} {
		for _, f := range s.Decide(start, &Force{By: "$scene", Rule: rule, Remove: remove}, nil).Facts {
			got = append(got, f.FactKind())
			if x, ok := f.(*ThrottleChanged); ok && x.Removed != remove {
				t.Errorf("%+v", x)
			}
			s.Apply(f.(Fact))
		}
	}
	if !slices.Equal(got, []string{FactThrottle, FactThrottle, FactNotDone}) {
		t.Error(got)
	}
}
