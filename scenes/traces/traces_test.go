package traces

import (
	"slices"
	"testing"

	"tavernsim/engine/bus"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

func all(kind string, data []byte) (found []string) {
	of(kind, data, func(b []byte) { found = append(found, string(b)) })
	return found
}

// Every fact that names a trace is read as its own package writes it.
func TestTracesOfFacts(t *testing.T) {
	codec := protocol.NewCodec()
	chain := []protocol.Link{{Agent: "a", Type: "x.y"}}
	cause := func(s string) world.Cause { return world.Cause{Trace: s, Chain: chain} }
	for _, c := range []struct {
		fact protocol.Fact
		want []string
	}{
		{&bus.Routed{EventHeader: protocol.EventHeader{ID: "e1", TraceID: "t1", Targets: []string{"b", "c"}, Chain: chain}, Receivers: bus.Ranges{{From: 1, Count: 2}}}, []string{"t1"}},
		{&bus.Refused{EventHeader: protocol.EventHeader{ID: "e2", TraceID: "t2", Chain: chain}, Detail: "no"}, []string{"t2"}},
		{&world.Refused{Path: world.Path{}, By: "a", Message: "no", Cause: cause("t3")}, []string{"t3"}},
		{&world.Committed{Changes: []world.Change{{By: "a", Cause: cause("t4")}, {By: "b"}, {By: "c", Cause: cause("t5")}}}, []string{"t4", "t5"}},
		{&statecmd.Committed{Parts: []statecmd.Part{{Document: "d", Changes: []world.Change{{Cause: cause("t6")}}}, {Changes: []world.Change{{Cause: cause("t7")}}}}}, []string{"t6", "t7"}},
		{&world.Committed{}, nil},
		{&bus.SubscriptionChanged{Agent: 1}, nil},
	} {
		data, err := codec.Marshal(c.fact)
		if err != nil {
			t.Fatal(err)
		}
		if have := all(c.fact.FactKind(), data); !slices.Equal(have, c.want) {
			t.Errorf("%s %+v: traces %q; want %q", c.fact.FactKind(), c.fact, have, c.want)
		}
		for cut := range data {
			all(c.fact.FactKind(), data[:cut])
		}
	}
}

// Reading costs nothing that the collector would have to carry away.
func TestNothingIsAllocated(t *testing.T) {
	data := (&bus.Routed{EventHeader: protocol.EventHeader{ID: "e1", TraceID: "t1"}, Body: protocol.Encode("hello")}).AppendMsg(nil)
	yield := func([]byte) {}
	if n := testing.AllocsPerRun(100, func() { of("event.routed", data, yield) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzOf(f *testing.F) {
	f.Add("event.routed", (&bus.Routed{EventHeader: protocol.EventHeader{TraceID: "t"}}).AppendMsg(nil))
	f.Add("world.committed", (&world.Committed{Changes: []world.Change{{Cause: world.Cause{Trace: "t"}}}}).AppendMsg(nil))
	f.Fuzz(func(_ *testing.T, kind string, data []byte) { all(kind, data) })
}
