package travel_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/travel"
	"tavernsim/protocol"
)

// Promises 1 to 3: tickets are numbered without a gap, open until exactly one answer, and of
// those of others there is one number and the refused ones that are not closed. A state reads
// as it was written, at any moment.
func TestTickets(t *testing.T) {
	codec := protocol.NewCodec(travel.Facts())
	rapid.Check(t, func(t *rapid.T) {
		var here, there travel.State
		apply := func(s *travel.State, f travel.Fact) {
			if err := s.Apply(f); err != nil {
				t.Fatal(err)
			}
		}
		var sent, taken uint64
		open := map[uint64]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				n, closed := here.Next("inn")
				if sent++; n != sent || closed >= n {
					t.Fatalf("ticket %d of %d, closed %d", n, sent, closed)
				}
				open[n] = true
				if n%3 == 0 {
					apply(&here, &travel.Posted{To: "inn", Number: n, Closed: closed, Parcel: []travel.Item{{Kind: "told", Data: protocol.Encode(int64(n))}}})
					continue
				}
				apply(&here, &travel.Departed{To: "inn", Number: n, Agent: uint32(n % 7), Closed: closed, State: protocol.Encode(int64(n))})
			case 1:
				if taken == sent {
					continue
				}
				taken++
				if m := here.Posted("inn", taken); m != nil {
					apply(&there, &travel.Received{From: "town", Number: taken, Closed: m.Closed})
					continue
				}
				closed := here.Trip("inn", taken).Closed
				if _, had := there.Has("town", taken); had {
					t.Fatalf("ticket %d was decided before", taken)
				}
				if rapid.Bool().Draw(t, "refused") {
					apply(&there, &travel.TurnedAway{From: "town", Number: taken, Closed: closed, Error: "full"})
				} else {
					apply(&there, &travel.Arrived{From: "town", Number: taken, Closed: closed})
				}
				for _, r := range there.Taken[0].Refused {
					if r.Number <= closed {
						t.Fatalf("ticket %d is closed and kept", r.Number)
					}
				}
			case 2:
				for n := range taken {
					if !open[n+1] {
						continue
					}
					delete(open, n+1)
					if why, had := there.Has("town", n+1); !had {
						t.Fatalf("ticket %d is not decided", n+1)
					} else if here.Posted("inn", n+1) != nil {
						apply(&here, &travel.Delivered{To: "inn", Number: n + 1})
						if err := here.Apply(&travel.Delivered{To: "inn", Number: n + 1}); protocol.KindOf(err) != protocol.KindCorrupt {
							t.Fatalf("a second answer: %v", err)
						}
						break
					} else if why != "" {
						apply(&here, &travel.Returned{To: "inn", Number: n + 1})
					} else {
						apply(&here, &travel.Reached{To: "inn", Number: n + 1})
					}
					if err := here.Apply(&travel.Reached{To: "inn", Number: n + 1}); protocol.KindOf(err) != protocol.KindCorrupt {
						t.Fatalf("a second answer: %v", err)
					}
					break
				}
			}
			if n := len(here.Open) + len(here.Mail); n != len(open) {
				t.Fatalf("%d are open, want %d", n, len(open))
			}
			for _, s := range []*travel.State{&here, &there} {
				raw, err := s.Snapshot(codec)
				if err != nil {
					t.Fatal(err)
				}
				again, err := travel.Load(codec, raw)
				if err != nil {
					t.Fatal(err)
				}
				if second, _ := again.Snapshot(codec); string(second) != string(raw) {
					t.Fatalf("%+v was read as %+v", s, again)
				}
			}
		}
	})
}

// Promises 1 and 2: each scene has tickets of its own, and one that is open to one scene closes none to another.
func TestTicketsOfSeveralScenes(t *testing.T) {
	var s travel.State
	for _, f := range []travel.Fact{
		&travel.Departed{To: "inn", Number: 1}, &travel.Departed{To: "inn", Number: 2}, &travel.Posted{To: "mill", Number: 1},
		&travel.Posted{To: "port", Number: 1}, &travel.Posted{To: "port", Number: 2}, &travel.Posted{To: "port", Number: 3}, &travel.Delivered{To: "port", Number: 1},
		&travel.Departed{To: "farm", Number: 1}, &travel.Departed{To: "farm", Number: 2}, &travel.Reached{To: "farm", Number: 1}, &travel.Returned{To: "farm", Number: 2},
	} {
		must(t, s.Apply(f))
	}
	for to, want := range map[string][2]uint64{"inn": {3, 0}, "mill": {2, 0}, "port": {4, 1}, "farm": {3, 2}, "moon": {1, 0}} {
		if n, closed := s.Next(to); [2]uint64{n, closed} != want {
			t.Errorf("the next ticket to %s is %d, closed %d; want %v", to, n, closed, want)
		}
	}
	if x, m := s.Trip("inn", 2), s.Posted("port", 3); x == nil || x.Number != 2 || m == nil || m.To != "port" || m.Number != 3 {
		t.Errorf("open: %+v, %+v", x, m)
	}
	for _, to := range []string{"farm", "port"} {
		if x := s.Trip(to, 1); x != nil {
			t.Errorf("%s: %+v", to, x)
		}
	}
	if m := s.Posted("inn", 2); m != nil {
		t.Errorf("%+v", m)
	}
}

// Promise 3: a refused ticket of another scene keeps its words until that scene has closed it, in each copy by itself.
func TestRefusedTickets(t *testing.T) {
	var s travel.State
	must(t, s.Apply(&travel.Arrived{From: "town", Number: 1}))
	must(t, s.Apply(&travel.TurnedAway{From: "town", Number: 2, Error: "full"}))
	must(t, s.Apply(&travel.TurnedAway{From: "town", Number: 3}))
	if n := len(s.Taken[0].Refused); n != 2 {
		t.Errorf("%d tickets are kept, and 2 were refused", n)
	}
	c := s.Fork()
	must(t, c.Apply(&travel.Arrived{From: "town", Number: 4, Closed: 2}))
	for _, x := range []struct {
		s      *travel.State
		number uint64
		why    string
		has    bool
	}{{&s, 1, "", true}, {&s, 2, "full", true}, {&s, 3, "refused", true}, {&s, 4, "", false}, {&c, 2, "", true}, {&c, 3, "refused", true}, {&c, 4, "", true}} {
		if why, has := x.s.Has("town", x.number); why != x.why || has != x.has {
			t.Errorf("ticket %d: %q, %t; want %q, %t", x.number, why, has, x.why, x.has)
		}
	}
}

// A state is nothing while nobody has travelled, and ends before the parcels while there are none, as older programs wrote it.
func TestOldSnapshots(t *testing.T) {
	codec := protocol.NewCodec(travel.Facts())
	const four, five, none = 0x94, 0x95, 0xc0
	var s travel.State
	if raw, err := s.Snapshot(codec); raw != nil || err != nil {
		t.Errorf("%x, %v", raw, err)
	}
	for _, x := range []struct {
		f    travel.Fact
		head byte
	}{{&travel.Departed{To: "inn", Number: 1}, four}, {&travel.Posted{To: "inn", Number: 2}, five}} {
		must(t, s.Apply(x.f))
		if raw, err := s.Snapshot(codec); err != nil || raw[0] != x.head {
			t.Errorf("%x, %v; want it to begin with %x", raw, err, x.head)
		}
	}
	if s, err := travel.Load(codec, protocol.Raw{none}); err != nil || !s.Empty() {
		t.Errorf("%+v, %v", s, err)
	}
}

// The numbers of turns that an agent had elsewhere, or that were cut short, are kept for each agent.
func TestTurnsElsewhere(t *testing.T) {
	codec := protocol.NewCodec(travel.Facts())
	var s travel.State
	if s.Elsewhere(2) != 0 || !s.Empty() {
		t.Fatalf("%+v", s)
	}
	for _, step := range []func(){
		func() { s.CutShort(2) }, func() { s.CutShort(2) },
		func() { must(t, s.Apply(&travel.Arrived{From: "inn", Number: 1, Agent: 5, Elsewhere: 7})) },
		func() { s.CutShort(5) },
		func() { must(t, s.Apply(&travel.Departed{To: "inn", Number: 1, Agent: 2})) },
		func() { must(t, s.Apply(&travel.Returned{To: "inn", Number: 1, Agent: 2, Elsewhere: 4})) },
	} {
		step()
		raw, err := s.Snapshot(codec)
		must(t, err)
		s, err = travel.Load(codec, raw)
		must(t, err)
	}
	if s.Elsewhere(2) != 4 || s.Elsewhere(5) != 8 || s.Elsewhere(3) != 0 || len(s.Extra) != 2 {
		t.Errorf("%+v", s.Extra)
	}
}

// A letter leaves with what opens a ticket.
func TestTimes(t *testing.T) {
	for f, want := range map[travel.Fact]bool{
		&travel.Departed{Arrives: 3, Answer: 5}: true, &travel.Posted{Arrives: 3, Answer: 5}: true, &travel.Arrived{}: false,
	} {
		if arrives, answer, sent := travel.Times(f); sent != want || want && (arrives != 3 || answer != 5) {
			t.Errorf("%T: %d, %d, %t", f, arrives, answer, sent)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedTickets(t *testing.T) {
	for name, f := range map[string]travel.Fact{
		"departed": &travel.Departed{To: "inn", Number: 2}, "arrived": &travel.Arrived{From: "inn", Number: 3},
		"posted": &travel.Posted{To: "inn", Number: 2}, "received": &travel.Received{From: "inn", Number: 3}, "delivered": &travel.Delivered{To: "inn", Number: 1},
		"reached": &travel.Reached{To: "inn", Number: 1}, "returned": &travel.Returned{To: "inn", Number: 1},
	} {
		var s travel.State
		if err := s.Apply(f); protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A letter reads as it was written; what is no letter is none.
func TestLetters(t *testing.T) {
	for _, l := range []*travel.Letter{
		{Kind: travel.Arrive, Scene: "town", Number: 3, Closed: 1, Agent: "ada", Profile: "guest", State: protocol.Encode([]any{int64(1), map[string]any{"coins": 1.5}}), Turns: 7},
		{Kind: travel.Arrive, Scene: "town", Number: 4, Agent: "bytes", Profile: "guest", State: protocol.Raw{0xc4, 2, 7, 0xff}, Turns: 1}, // which are no value
		{Kind: travel.Arrive, Scene: "town", Number: 5, Closed: 2, Parcel: []travel.Item{{Kind: "a", Data: protocol.Raw{0xc4, 2, 7, 0xff}}, {Kind: "b"}}},
		{Kind: travel.Reach, Scene: "inn", Number: 1}, {Kind: travel.Return, Scene: "inn", Number: 2, Error: "full"},
	} {
		v, err := l.Do().Value()
		if err != nil {
			t.Fatal(err)
		}
		again, err := travel.Read(v.([]any)[0])
		if err != nil || again == nil || again.ID() != l.ID() || again.Error != l.Error || string(again.Do()) != string(l.Do()) {
			t.Errorf("%+v was read as %+v, %v", l, again, err)
		}
	}
	reach := map[string]any{"scene": "inn", "number": int64(1)}
	for _, v := range []any{nil, "arrive", map[string]any{"rest": map[string]any{}}, map[string]any{"arrive": 1}, map[string]any{"reach": reach, "rest": map[string]any{}}} {
		if l, err := travel.Read(v); l != nil || err != nil {
			t.Errorf("%v: %+v, %v", v, l, err)
		}
	}
	for _, v := range []any{
		map[string]any{"arrive": map[string]any{}}, map[string]any{"reach": map[string]any{"scene": "inn"}}, map[string]any{"arrive": map[string]any{"scene": "a", "number": int64(2), "closed": int64(2), "agent": "x"}},
		map[string]any{"reach": map[string]any{"number": int64(1)}}, map[string]any{"reach": map[string]any{"scene": "inn", "number": int64(-1)}}, map[string]any{"arrive": map[string]any{"scene": "a", "number": int64(2)}},
	} {
		if _, err := travel.Read(v); err == nil || !strings.Contains(err.Error(), "without its") {
			t.Errorf("%v: %v", v, err)
		}
	}
	bad := map[string]any{"arrive": map[string]any{"scene": "a", "number": int64(2), "agent": "x", "state": "?"}}
	if _, err := travel.Read(bad); err == nil || !strings.Contains(err.Error(), "the state in a letter arrive") {
		t.Error(err)
	}
	for _, parcel := range []any{[]any{"x"}, []any{[]any{"kind", "?"}}} {
		bad := map[string]any{"arrive": map[string]any{"scene": "a", "number": int64(2), "parcel": parcel}}
		if _, err := travel.Read(bad); err == nil || !strings.Contains(err.Error(), "the parcel in a letter arrive") {
			t.Error(err)
		}
	}
}
