package bus

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// many is a channel with n agents without subscriptions.
func many(tb testing.TB, n int) *State {
	tb.Helper()
	s, err := New(Config{}, List(population(n, func(int) []Subscription { return nil })))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// subscribe1 applies a change of an agent's subscriptions and gives the fact.
func (s *State) subscribe1(tb testing.TB, o int, c Change) *SubscriptionChanged {
	tb.Helper()
	c.Agent = fmt.Sprintf("agent_%06d", o)
	f, err := s.Change(c)
	if err != nil || f == nil {
		tb.Fatal(f, err)
	}
	s.Apply(f)
	return f
}

// Promise 10: the receivers of an event stay those that heard it, whatever is subscribed later.
func TestReceiversStay(t *testing.T) {
	s := many(t, 10)
	news := []Subscription{{Type: "news"}}
	for _, o := range []int{1, 3, 5} {
		s.subscribe1(t, o, Change{Add: news})
	}
	f := s.Decide(start, benchDraft("news"), nil).Facts[0].(*Routed)
	s.Apply(f)
	s.subscribe1(t, 4, Change{Add: news})
	s.subscribe1(t, 1, Change{Remove: news})
	if got := slices.Collect(f.Receivers.All()); !slices.Equal(got, []uint32{1, 3, 5}) {
		t.Errorf("the fact says %v", got)
	}
	f = s.Decide(start, benchDraft("news"), nil).Facts[0].(*Routed)
	if got := slices.Collect(f.Receivers.All()); !slices.Equal(got, []uint32{3, 4, 5}) {
		t.Errorf("later %v hear it", got)
	}
}

// An unsubscription without path or filter removes what the agent has of the type, in the order of the index:
// the fact has the same bytes whichever way the subscriptions came.
func TestUnsubscribeAll(t *testing.T) {
	s := many(t, 3)
	subs := []Subscription{{Type: TypeWorldUpdated, Path: "b"}, {Type: TypeWorldUpdated}, {Type: TypeWorldUpdated, Path: "a.*"},
		{Type: TypeWorldUpdated, Path: "a.*", FilterCondition: "payload.x"}, {Type: TypeWorldUpdated, FilterCondition: "payload.x"}}
	for o := range 3 {
		s.subscribe1(t, o, Change{Add: subs[o%2:]})
	}
	f := s.subscribe1(t, 0, Change{Remove: []Subscription{{Type: TypeWorldUpdated}}})
	var got []string
	for _, sub := range f.Remove {
		got = append(got, sub.Path+"|"+sub.FilterCondition)
	}
	if want := []string{"|", "|payload.x", "a.*|", "a.*|payload.x", "b|"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if added, removed := s.Changed(0); len(added)+len(removed) != 0 {
		t.Errorf("%v and %v are left", added, removed)
	}
	if added, _ := s.Changed(1); len(added) != 4 {
		t.Errorf("another agent has %v", added)
	}
}

// BenchmarkChange: one agent unsubscribes and subscribes again beside more and more others that have subscriptions.
// "own": each to a type of its own; "shared": every other agent to one type; "paths": each to a place of its own in the
// world, and what is unsubscribed names none; "groups": as own, in a group.
func BenchmarkChange(b *testing.B) {
	for _, c := range []struct {
		name       string
		sub, which func(o int) Subscription
	}{
		{"own", func(o int) Subscription { return Subscription{Type: fmt.Sprint("topic.", o)} }, nil},
		{"shared", func(int) Subscription { return Subscription{Type: "news"} }, nil},
		{"paths", func(o int) Subscription {
			return Subscription{Type: TypeWorldUpdated, Path: fmt.Sprintf("agents.a_%d", o)}
		}, func(int) Subscription { return Subscription{Type: TypeWorldUpdated} }},
		{"groups", func(o int) Subscription {
			return Subscription{Type: fmt.Sprint("topic.", o), Group: fmt.Sprint("g", o)}
		}, nil},
	} {
		for _, n := range []int{100, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/subscribers=%d", c.name, n), func(b *testing.B) {
				s := many(b, 2*n)
				for i := range n {
					s.Apply(&SubscriptionChanged{Agent: uint32(2 * i), Add: []Subscription{c.sub(i)}})
				}
				which := c.which
				if which == nil {
					which = c.sub
				}
				b.ReportAllocs()
				for b.Loop() {
					s.subscribe1(b, 100, Change{Remove: []Subscription{which(50)}})
					s.subscribe1(b, 100, Change{Add: []Subscription{c.sub(50)}})
				}
			})
		}
	}
}

// BenchmarkHolds: all agents, each with an event that is held for it alone, are asked whether they hear one.
func BenchmarkHolds(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		subs := func(o int) []Subscription {
			return []Subscription{{Type: fmt.Sprint("topic.", o), Quiet: time.Second}}
		}
		s, err := New(Config{}, List(population(n, subs)))
		if err != nil {
			b.Fatal(err)
		}
		for o := range n {
			s.Apply(s.Decide(start, benchDraft(fmt.Sprint("topic.", o)), nil).Facts[0])
		}
		b.Run(fmt.Sprintf("holds=%d", n), func(b *testing.B) {
			for b.Loop() {
				s.Apply(s.Decide(start, benchDraft("topic.0"), nil).Facts[0]) // the holds have changed
				for o := range uint32(n) {
					if s.Holds(o, start) || !s.Holds(o, start.Add(time.Minute)) {
						b.Fatal("not held for", o)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/agent")
		})
	}
}

// BenchmarkView: the channel is shown after a change, with more and more groups of one agent each.
func BenchmarkView(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		s := many(b, 2*n)
		for i := range n {
			s.Apply(&SubscriptionChanged{Agent: uint32(2 * i), Add: []Subscription{{Type: "job", Group: fmt.Sprint("g", i)}}})
		}
		b.Run(fmt.Sprintf("groups=%d", n), func(b *testing.B) {
			for b.Loop() {
				s.Apply(&SubscriptionChanged{Agent: 0, Remove: []Subscription{{Type: "job", Group: "g0"}}})
				s.Apply(&SubscriptionChanged{Agent: 0, Add: []Subscription{{Type: "job", Group: "g0"}}})
				if s.View().Grouped.Len() != n {
					b.Fatal("not all are in groups")
				}
			}
		})
	}
}
