package bus

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

// rooms is a space in which everybody hears everything.
type rooms []string // by ordinal; "" = in none

func (r rooms) Hearers(_, _, _ string) ([]uint32, bool, error) { return nil, false, nil }
func (r rooms) PlaceOf(o uint32) string                        { return r[o] }

func (r rooms) InPlace(name string) (list []uint32) {
	for o, place := range r {
		if place == name {
			list = append(list, uint32(o))
		}
	}
	return list
}

// Promise 4: a filter that names a place hears what the same filter hears that is asked for every agent.
func TestPlaceOfTheListener(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.SampledFrom([]string{"", "inn", "mill"})
		var crew []Subscriber
		var at rooms
		filters := []string{"payload.at === self.place", "self.place === payload.at && self.instance_id !== 'b'", "payload.at !== 3 && payload.at === self.place", "payload.at.length > 2 === self.place"}
		filter := rapid.SampledFrom(filters).Draw(t, "filter")
		for _, id := range []string{"a", "b", "c", "d"} {
			crew = append(crew, Subscriber{InstanceID: id, Subscriptions: []Subscription{
				{Type: "x", FilterCondition: filter}, {Type: "y", FilterCondition: "(" + filter + ") || false"},
			}})
			at = append(at, place.Draw(t, id))
		}
		s, err := New(Config{}, List(crew))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "space") {
			s.Space = at
		}
		payload := rapid.SampledFrom([]any{map[string]any{"at": "inn"}, map[string]any{"at": "moon"}, map[string]any{"at": nil}, map[string]any{}, map[string]any{"at": int64(3)}}).Draw(t, "payload")
		hears := func(typ string) []uint32 {
			v := s.Decide(start, draft("a", typ, payload), nil)
			return slices.Collect(v.Facts[0].(*Routed).Receivers.All())
		}
		if chosen, asked := hears("x"), hears("y"); !slices.Equal(chosen, asked) {
			t.Fatalf("%v hear of %v in %v; want %v", chosen, payload, at, asked)
		}
	})
}

// Agents join groups and leave them while the scene runs; the channel says who is in one, also
// after a snapshot.
func TestGroupsChange(t *testing.T) {
	crew := List([]Subscriber{{InstanceID: "a", Subscriptions: []Subscription{{Type: "x", Group: "g"}}}, {InstanceID: "b"}, {InstanceID: "c", Subscriptions: []Subscription{{Type: "x"}}}})
	s, err := New(Config{}, crew)
	if err != nil {
		t.Fatal(err)
	}
	codec := protocol.NewCodec(Facts())
	grouped := func(want ...uint32) {
		t.Helper()
		raw, err := s.Snapshot(codec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Restore(Config{}, crew, codec, raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*State{s, again} {
			if got := slices.Collect(s.View().Grouped.All()); !slices.Equal(got, want) {
				t.Errorf("%v are in groups, want %v", got, want)
			}
		}
	}
	change := func(agent string, add, remove []Subscription) {
		t.Helper()
		f, err := s.Change(Change{Agent: agent, Add: add, Remove: remove})
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			s.Apply(f)
		}
	}
	grouped(0)
	change("b", []Subscription{{Type: "x.*", Group: "h"}, {Type: TypeWorldUpdated, Path: "p", Group: "g"}}, nil)
	grouped(0, 1)
	change("c", []Subscription{{Type: "x", Group: "g"}}, nil)
	grouped(0, 1, 2)
	change("c", nil, []Subscription{{Type: "x", Group: "other"}})
	change("a", nil, []Subscription{{Type: "x", Group: "g"}})
	grouped(1, 2)
	change("b", nil, []Subscription{{Type: "x.*"}, {Type: TypeWorldUpdated}})
	change("c", nil, []Subscription{{Type: "x", Group: "g"}})
	grouped()
	if added, removed := s.Changed(2); len(added)+len(removed) != 0 {
		t.Errorf("c lacks or has %v, %v", added, removed)
	}
}
