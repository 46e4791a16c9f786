package bus

import (
	"fmt"
	"testing"

	"tavernsim/protocol"
)

func population(n int, subs func(i int) []Subscription) []Subscriber {
	list := make([]Subscriber, n)
	for i := range list {
		list[i] = Subscriber{InstanceID: fmt.Sprintf("agent_%06d", i), ProfileID: "p", Subscriptions: subs(i)}
	}
	return list
}

func benchDraft(eventType string) *protocol.Draft {
	return &protocol.Draft{Source: "agent_000001", Type: eventType, TraceID: "t1",
		Chain: []protocol.Link{{Agent: "agent_000002", Type: "a"}, {Agent: "agent_000003", Type: "b"}},
		Body:  protocol.Encode(map[string]any{"message": "please help me", "target_npc_id": "agent_000007", "amount": int64(3)})}
}

func benchDecide(b *testing.B, s *State, eventType string) {
	p := Publish{Now: start, Events: []*protocol.Draft{benchDraft(eventType)}}
	receivers := s.Decide(p).Facts[0].(*Routed).Receivers.Len()
	b.ReportAllocs()
	for b.Loop() {
		s.Decide(p)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(1, receivers)), "ns/receiver")
}

// BenchmarkFanOut: one type with 100,000 subscribers.
func BenchmarkFanOut(b *testing.B) {
	for _, f := range []struct{ name, filter string }{{"none", ""}, {"payload", "payload.message.includes('help')"},
		{"select", "payload.target_npc_id === self.instance_id"}, {"scan", "payload.amount < self.instance_id.length"}} {
		b.Run("subscribers=100000/filter="+f.name, func(b *testing.B) {
			subs := []Subscription{{Type: "chat.said", FilterCondition: f.filter}}
			s, err := New(Config{}, population(100_000, func(int) []Subscription { return subs }))
			if err != nil {
				b.Fatal(err)
			}
			benchDecide(b, s, "chat.said")
		})
	}
}

// BenchmarkRoute: an event that 100 hear, alone and among 1,000,000
// subscriptions of 10,000 types; must stay within 3x. "one" has one subscriber.
func BenchmarkRoute(b *testing.B) {
	spread := func(i int) []Subscription {
		subs := make([]Subscription, 10)
		for j := range subs {
			subs[j].Type = fmt.Sprintf("type.%d", (i*10+j)%10_000)
		}
		return subs
	}
	for _, c := range []struct {
		name   string
		agents int
		subs   func(i int) []Subscription
	}{
		{"subscriptions=1/types=1", 1, func(int) []Subscription { return []Subscription{{Type: "type.7"}} }},
		{"subscriptions=1000000/types=10000", 100_000, spread},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := New(Config{}, population(c.agents, c.subs))
			if err != nil {
				b.Fatal(err)
			}
			benchDecide(b, s, "type.7")
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	subs := []Subscription{{Type: "a"}, {Type: "b.*"}, {Type: "c", FilterCondition: "payload.to === self.instance_id"}}
	list := population(100_000, func(int) []Subscription { return subs })
	for b.Loop() {
		if _, err := New(Config{}, list); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/300_000, "ns/subscription")
}

func BenchmarkRoutedCodec(b *testing.B) {
	s, err := New(Config{}, population(1000, func(int) []Subscription { return []Subscription{{Type: "x"}} }))
	if err != nil {
		b.Fatal(err)
	}
	f := s.Decide(Publish{Now: start, Events: []*protocol.Draft{benchDraft("x")}}).Facts[0].(*Routed)
	codec := protocol.NewCodec()
	raw := f.AppendMsg(nil)
	b.Run("write=hand", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 4096)
		for b.Loop() {
			buf = f.AppendMsg(buf[:0])
		}
	})
	b.Run("write=codec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = codec.Marshal((*reflected)(f))
		}
	})
	b.Run("read=hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = ReadRouted(raw)
		}
	})
	b.Run("read=codec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var r reflected
			_ = codec.Unmarshal(raw, &r)
		}
	})
}
