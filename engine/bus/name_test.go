package bus

import (
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
)

// Promise 9: the id of a turn's event comes from the turn alone, that of another is its number;
// nobody has the same.
func TestNames(t *testing.T) {
	of := func(source string, turn uint64, more protocol.Draft) *protocol.Draft {
		d := more
		d.Type, d.Source, d.Turn = "x", source, turn
		return &d
	}
	header := func(id, trace string, ack bool) protocol.Draft {
		return protocol.Draft{EventHeader: protocol.EventHeader{ID: id, TraceID: trace, RequiresAck: ack}}
	}
	steps := []struct {
		req  Request
		want string // id and trace
	}{
		{of("a", 3, protocol.Draft{}), "a/3.e1 a/3.e1"},
		{&Change{Agent: "a", Add: []Subscription{{Type: "y"}}}, ""},
		{of("a", 3, header("", "t9", false)), "a/3.e2 t9"},
		{of("a", 3, protocol.Draft{EventHeader: protocol.EventHeader{Targets: []string{"nobody"}}}), "a/3.e3 a/3.e3"}, // refused
		{of("a", 3, protocol.Draft{}), "a/3.e4 a/3.e4"},
		{of("b", 3, protocol.Draft{}), "b/3.e1 b/3.e1"},
		{of("b", 4, protocol.Draft{}), "b/4.e1 b/4.e1"},
		{of("$scene", 0, protocol.Draft{}), "e7 e7"},
		{of("", 0, protocol.Draft{}), "e8 e8"},
		{of("b", 4, header("b/4.e1", "b/4.e1", true)), "b/4.e1 b/4.e1"}, // published again for who must handle it
		{of("b", 4, header("b/4.e1", "b/4.e1", false)), "e10 b/4.e1"},   // sent again by somebody outside
		{of("a", 9, protocol.Draft{}), "a/9.e1 a/9.e1"},
	}
	for _, numbered := range []bool{false, true} {
		s := channel(t, Config{NamespacePrefix: "n.", Numbered: numbered}, map[string][]string{"a": {"x"}, "b": nil})
		n := 0
		for i, step := range steps {
			for _, f := range s.Decide(start, step.req, nil).Facts {
				s.Apply(f)
				h := &protocol.EventHeader{}
				switch x := f.(type) {
				case *Routed:
					h = &x.EventHeader
				case *Refused:
					h = &x.EventHeader
				default:
					continue
				}
				n++
				id, trace, _ := strings.Cut(step.want, " ")
				d := step.req.(*protocol.Draft)
				if numbered {
					id, trace = s.Names.Number('e', uint64(n)), "n.t"+strings.TrimPrefix(s.Names.Number('e', uint64(n)), "n.e")
				} else {
					id, trace = "n."+id, "n."+trace
				}
				if d.RequiresAck {
					id = d.ID
				}
				if d.TraceID != "" {
					trace = d.TraceID
				}
				if h.ID != id || h.TraceID != trace {
					t.Errorf("numbered %t, step %d: %s of trace %s, want %s of %s", numbered, i, h.ID, h.TraceID, id, trace)
				}
			}
		}
	}
}

// A release is an event again under its id, whatever its number is; a merged one is a new event.
func TestAgain(t *testing.T) {
	for _, debounce := range []DebounceMode{DebounceLatest, DebounceMerge} {
		subs := Subscription{Type: "x", Quiet: time.Second, Most: time.Minute, Debounce: debounce}
		s, err := New(Config{}, List([]Subscriber{{InstanceID: "a", Subscriptions: []Subscription{subs}}}))
		if err != nil {
			t.Fatal(err)
		}
		d := draft("p", "x", nil)
		d.Turn = 3
		publish(t, s, d)
		publish(t, s, d)
		f, _ := s.Release(start.Add(time.Hour), nil).(*Routed)
		if f == nil {
			t.Fatal("nothing is released")
		}
		for seq := range uint64(4) {
			f.Seq = seq
			if debounce == DebounceMerge {
				f.ID = s.Names.Number('e', seq)
			}
			if got := f.Again(); got != (debounce == DebounceLatest) {
				t.Errorf("%s: %s of number %d: again %t", debounce, f.ID, seq, got)
			}
		}
	}
}
