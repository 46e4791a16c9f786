package bus

import (
	"fmt"
	"testing"

	"tavernsim/protocol"
)

// ranks are so many agents, of which none is kept anywhere.
type ranks struct {
	n     int
	hears []Subscription
}

func (r ranks) Len() int                            { return r.n }
func (r ranks) Name(o uint32) string                { return fmt.Sprintf("agent_%d", o) }
func (r ranks) Profile(uint32) string               { return "p" }
func (r ranks) Subscriptions(uint32) []Subscription { return r.hears }
func (r ranks) Ordinal(id string) (o uint32, ok bool) {
	_, err := fmt.Sscanf(id, "agent_%d", &o)
	return o, err == nil && int(o) < r.n && r.Name(o) == id
}

// Promise 8: what a channel takes does not grow with its subscribers.
func TestKeepsNothingForASubscriber(t *testing.T) {
	built := func(n int) float64 {
		r := ranks{n, []Subscription{{Type: "a"}, {Type: "b", FilterCondition: "payload.x > 1"}}}
		naming := testing.AllocsPerRun(1, func() {
			for o := range uint32(n) {
				if back, ok := r.Ordinal(r.Name(o)); !ok || back != o {
					t.Fatal(o, "is named otherwise")
				}
			}
		})
		return testing.AllocsPerRun(1, func() {
			if _, err := New(Config{}, r); err != nil {
				t.Fatal(err)
			}
		}) - naming
	}
	if few, many := built(10), built(3000); many > few+200 {
		t.Errorf("%v allocations for 10 subscribers, %v for 3,000", few, many)
	}
}

// The agents that a filter sees as self are boxed when it asks, and once.
func TestSelfIsBoxedOnce(t *testing.T) {
	s, err := New(Config{}, ranks{50, []Subscription{{Type: "a", FilterCondition: `self.instance_id !== payload.not && self.profile_id === "p"`}}})
	if err != nil || s.selves != nil {
		t.Fatal(err, "selves before anybody asked:", s.selves != nil)
	}
	body := protocol.Encode(map[string]any{"not": "agent_7"})
	d := &protocol.Draft{EventHeader: protocol.EventHeader{Type: "a", Source: "agent_1"}, Body: body}
	ask := func() {
		f, ok := s.Decide(0, d, nil).Facts[0].(*Routed)
		if !ok || f.Receivers.Len() != 49 || f.Receivers.Contains(7) {
			t.Fatalf("%+v", f)
		}
	}
	ask()
	boxed := s.selves[9]
	ask()
	if boxed != s.selves[9] || s.selves[9].ID != "agent_9" {
		t.Error("an agent is boxed again")
	}
}
