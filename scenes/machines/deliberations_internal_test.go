package machines

import (
	"slices"
	"testing"

	"tavernsim/protocol"
	"tavernsim/scenes/machines/inflight"
	"tavernsim/scenes/machines/span"
)

// A failure stays behind the turn of its agent that ended before, also if that is urgent.
func TestAFailureStaysBehindItsTurn(t *testing.T) {
	d := deliberations{Flight: inflight.New(3)}
	d.arrive(arrival{agent: 1, span: &span.Span{}}, protocol.Normal)
	d.arrive(arrival{agent: 2, span: &span.Span{}}, protocol.Critical)
	d.arrive(arrival{agent: 2, failure: &ActorFailed{}}, protocol.Normal)
	d.arrive(arrival{agent: 1, failure: &ActorFailed{}}, protocol.Critical)
	if len(d.urgent) != 2 || d.urgent[1].agent != 2 || len(d.arrived) != 2 || d.arrived[1].agent != 1 {
		t.Errorf("urgent %v, others %v", d.urgent, d.arrived)
	}
}

// An agent whose actor failed is restored once, when all before its failure is durable, and never if it has left.
func TestFailedAgentsAreRestored(t *testing.T) {
	var d deliberations
	for o, wave := range []uint64{4, 2, 3, 2} {
		d.restore(uint32(o), wave)
	}
	d.arrived = []arrival{{agent: 2, failure: &ActorFailed{}}, {agent: 0, failure: &ActorFailed{}}}
	d.abandon(2)
	if len(d.arrived) != 1 || d.arrived[0].agent != 0 {
		t.Errorf("%v wait", d.arrived)
	}
	for _, c := range []struct {
		durable uint64
		want    []uint32
	}{{1, nil}, {3, []uint32{1, 3}}, {3, nil}, {9, []uint32{0}}} {
		if got := d.restorable(c.durable); !slices.Equal(got, c.want) {
			t.Errorf("durable to %d: %v, want %v", c.durable, got, c.want)
		}
	}
}

// A wave on the virtual clock takes all failures that wait, one on the realtime clock so many turns that an urgent event behind them is
// not late. A wave that takes none is not urgent.
func TestHowManyTurnsAWaveTakes(t *testing.T) {
	for _, c := range []struct {
		realtime                       bool
		ordinary, urgent, taken, stays int
	}{
		{false, 100, 0, 100, 0},
		{true, 64, 0, 64, 0},
		{true, 65, 0, 64, 1},
		{true, 100, 3, 3, 100},
		{true, 0, 65, 64, 1},
		{true, 0, 0, 0, 0},
	} {
		d := deliberations{Flight: inflight.New(3), arrived: make([]arrival, c.ordinary), urgent: make([]arrival, c.urgent)}
		taken, urgent := d.take(c.realtime)
		if len(taken) != c.taken || len(d.arrived)+len(d.urgent) != c.stays || urgent != (c.urgent > 0) {
			t.Errorf("%+v: %d taken, urgent %v; %d and %d stay", c, len(taken), urgent, len(d.arrived), len(d.urgent))
		}
	}
}
