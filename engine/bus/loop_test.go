package bus

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// react lets every receiver publish what next says, until nobody does, and
// returns what happened, in order.
func react(t *testing.T, s *State, first *protocol.Draft, next func(agent string, e *protocol.Envelope) *protocol.Draft) (trace []string) {
	queue := []*protocol.Draft{first}
	for len(queue) > 0 {
		if len(trace) > 100_000 {
			t.Fatal("the echo does not end")
		}
		d := queue[0]
		queue = queue[1:]
		f, _ := publish(t, s, d)
		trace = append(trace, fmt.Sprintf("%s %s -> %s", d.Source, d.Type, heard(s, f)))
		r, ok := f.(*Routed)
		if !ok {
			continue
		}
		e := r.Event("")
		for o := range r.Receivers.All() {
			if d := next(s.subscribers.Name(o), e.Envelope); d != nil {
				d.CausedBy(e.Envelope)
				queue = append(queue, d)
			}
		}
	}
	return trace
}

// TestArchitecture9_LoopRule_Pair: two that answer each other for ever hear each
// other MaxRevisits times again, and a conversation A-B-A works.
func TestArchitecture9_LoopRule_Pair(t *testing.T) {
	for _, c := range []struct{ revisits, events int }{{0, 7}, {2, 7}, {-1, 3}, {1, 5}} {
		s := channel(t, Config{MaxRevisits: c.revisits}, map[string][]string{"a": {"pong"}, "b": {"ping"}})
		trace := react(t, s, draft("a", "ping", nil), func(agent string, e *protocol.Envelope) *protocol.Draft {
			return draft(agent, map[string]string{"a": "ping", "b": "pong"}[agent], nil)
		})
		if len(trace) != c.events || !strings.HasSuffix(trace[len(trace)-1], "refused: loop") || trace[1] != "b pong -> a" {
			t.Errorf("revisits %d: %d events\n%s", c.revisits, len(trace), strings.Join(trace, "\n"))
		}
	}
}

func TestArchitecture9_LoopRule_Actions(t *testing.T) {
	chain := []protocol.Link{}
	for range 3 {
		chain = append(chain, protocol.Link{Agent: "b", Type: "say"}, protocol.Link{Agent: "a", Type: "answer"})
	}
	for action, want := range map[LoopAction]string{
		LoopDrop:         "b a(loop drop)",
		LoopDeprioritize: "a b a(loop deprioritize)",
		LoopWarn:         "a b a(loop warn)",
	} {
		s := channel(t, Config{LoopAction: action}, map[string][]string{"a": {"say"}, "b": {"say"}})
		d := draft("b", "say", nil)
		d.Chain, d.Priority = chain, protocol.High
		f, _ := publish(t, s, d)
		if heard(s, f) != want {
			t.Errorf("%s: %s, want %s", action, heard(s, f), want)
		}
		priority := map[bool]protocol.Priority{true: protocol.Low, false: protocol.High}[action == LoopDeprioritize]
		if r := f.(*Routed); r.PriorityFor("a") != priority || r.PriorityFor("b") != protocol.High {
			t.Errorf("%s: priorities %v, %v", action, r.PriorityFor("a"), r.PriorityFor("b"))
		}
	}
}

// TestArchitecture9_DepthLimit_Ring: fifty agents that each publish again what
// they hear end at the depth limit, long before anyone hears it twice.
func TestArchitecture9_DepthLimit_Ring(t *testing.T) {
	subs := map[string][]string{}
	for i := range 50 {
		subs[fmt.Sprintf("n%02d", i)] = []string{fmt.Sprintf("ring.%d", i)}
	}
	s := channel(t, Config{}, subs)
	trace := react(t, s, draft("n49", "ring.0", nil), func(agent string, e *protocol.Envelope) *protocol.Draft {
		var i int
		_, _ = fmt.Sscanf(agent, "n%02d", &i)
		return draft(agent, fmt.Sprintf("ring.%d", (i+1)%50), nil)
	})
	if len(trace) != 34 || trace[33] != "n32 ring.33 -> refused: depth" {
		t.Errorf("%d events, last %s", len(trace), trace[len(trace)-1])
	}
	s = channel(t, Config{MaxDepth: 10_000}, subs)
	trace = react(t, s, draft("n49", "ring.0", nil), func(agent string, e *protocol.Envelope) *protocol.Draft {
		var i int
		_, _ = fmt.Sscanf(agent, "n%02d", &i)
		return draft(agent, fmt.Sprintf("ring.%d", (i+1)%50), nil)
	})
	if len(trace) != 151 || trace[150] != "n49 ring.0 -> refused: loop" {
		t.Errorf("%d events, last %s", len(trace), trace[len(trace)-1])
	}
}

// TestFanOutBomb: one event, many subscribers, each answering to one: the
// receivers are one run, the answers end.
func TestFanOutBomb(t *testing.T) {
	const n = 2000
	list := make([]Subscriber, n)
	shared := []Subscription{{Type: "bomb"}}
	for i := range list {
		list[i] = Subscriber{InstanceID: fmt.Sprint("a", i), Subscriptions: shared}
	}
	list = append(list, Subscriber{InstanceID: "sink", Subscriptions: []Subscription{{Type: "answer"}}})
	s, err := New(Config{}, List(list))
	if err != nil {
		t.Fatal(err)
	}
	trace := react(t, s, draft("x", "bomb", nil), func(agent string, e *protocol.Envelope) *protocol.Draft {
		if agent == "sink" {
			return nil
		}
		return draft(agent, "answer", nil)
	})
	if len(trace) != n+1 || s.Deliveries != 2*n {
		t.Errorf("%d events, %d deliveries", len(trace), s.Deliveries)
	}
	v := s.Decide(start, draft("x", "bomb", nil), nil)
	if rs := v.Facts[0].(*Routed).Receivers; len(rs) != 1 || rs[0].Count != n {
		t.Errorf("receivers %v", rs)
	}
}
