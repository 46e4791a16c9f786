package bus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/bus/filter"
	"tavernsim/engine/bus/throttle"
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
	return &protocol.Draft{EventHeader: protocol.EventHeader{Source: "agent_000001", Type: eventType, TraceID: "t1", Chain: []protocol.Link{{Agent: "agent_000002", Type: "a"}, {Agent: "agent_000003", Type: "b"}}}, Body: protocol.Encode(map[string]any{"message": "please help me", "target_npc_id": "agent_000007", "amount": int64(3)})}
}

func benchDecide(b *testing.B, s *State, eventType string) {
	d := benchDraft(eventType)
	receivers := s.Decide(start, d, nil).Facts[0].(*Routed).Receivers.Len()
	b.ReportAllocs()
	for b.Loop() {
		s.Decide(start, d, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(1, receivers)), "ns/receiver")
}

// BenchmarkFanOut: one type with 100,000 subscribers.
func BenchmarkFanOut(b *testing.B) {
	for _, f := range []struct{ name, filter string }{{"none", ""}, {"payload", "payload.message.includes('help')"},
		{"select", "payload.target_npc_id === self.instance_id"}, {"scan", "payload.amount < self.instance_id.length"}} {
		b.Run("subscribers=100000/filter="+f.name, func(b *testing.B) {
			subs := []Subscription{{Type: "chat.said", FilterCondition: f.filter}}
			s, err := New(Config{}, List(population(100_000, func(int) []Subscription { return subs })))
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
			s, err := New(Config{}, List(population(c.agents, c.subs)))
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
		if _, err := New(Config{}, List(list)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/300_000, "ns/subscription")
}

func BenchmarkRoutedCodec(b *testing.B) {
	s, err := New(Config{}, List(population(1000, func(int) []Subscription { return []Subscription{{Type: "x"}} })))
	if err != nil {
		b.Fatal(err)
	}
	f := s.Decide(start, benchDraft("x"), nil).Facts[0].(*Routed)
	raw := f.AppendMsg(nil)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 4096)
		for b.Loop() {
			buf = f.AppendMsg(buf[:0])
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = ReadRouted(raw)
		}
	})
}

// BenchmarkFilter: a filter beside the same question as a Go closure over the
// same payload; must stay under 1 microsecond.
func BenchmarkFilter(b *testing.B) {
	d := benchDraft("x")
	body, _ := d.Body.Value()
	payload := body.(map[string]any)
	closure := func() bool {
		amount, ok := protocol.Number(payload["amount"])
		message, text := payload["message"].(string)
		return ok && text && amount > 2 && strings.Contains(message, "help")
	}
	b.Run("closure", func(b *testing.B) {
		for b.Loop() {
			if !closure() {
				b.Fatal("it holds")
			}
		}
	})
	for name, text := range map[string]string{"two": "payload.amount > 2 && payload.message.includes('help')", "one": "payload.message.includes('help')", "self": "payload.target_npc_id === self.instance_id"} {
		f, err := filter.Compile(text, 0)
		if err != nil {
			b.Fatal(err)
		}
		s := &State{}
		env := filter.Env{Event: protocol.NewSharedEvent(s.enrich(d, 1, start))}
		who := &filter.Self{ID: "agent_000007"}
		b.Run("filter="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := f.Hears(&env, who, nil, 0); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

// BenchmarkMatching: the cost follows the subscribers that match, not those
// that are there. "of" are all subscriptions.
func BenchmarkMatching(b *testing.B) {
	for _, matching := range []int{1, 100, 10_000} {
		for _, types := range []int{1, 10, 100} {
			subs := make([][]Subscription, types)
			for i := range subs {
				subs[i] = []Subscription{{Type: fmt.Sprint("type.", i)}}
			}
			s, err := New(Config{}, List(population(matching*types, func(i int) []Subscription { return subs[i%types] })))
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("matching=%d/of=%d", matching, matching*types), func(b *testing.B) { benchDecide(b, s, "type.0") })
		}
	}
}

// BenchmarkRules: what each rule of the chain adds to an event that 100 hear.
func BenchmarkRules(b *testing.B) {
	plain := []Subscription{{Type: "x"}}
	rule := throttle.Rule{Type: "x", Per: throttle.PerSource, Max: throttle.MaxEvents, Window: time.Second}
	pass := delivery.Func(func(_ delivery.Message, v delivery.Verdict) delivery.Verdict { return v })
	for _, c := range []struct {
		name string
		cfg  Config
		subs []Subscription
	}{
		{"none", Config{}, plain},
		{"throttle", Config{Throttle: []throttle.Rule{rule}}, plain},
		{"debounce", Config{}, []Subscription{{Type: "x", Quiet: time.Second}}},
		{"middleware=1", Config{Middleware: delivery.Chain{pass}}, plain},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := New(c.cfg, List(population(100, func(int) []Subscription { return c.subs })))
			if err != nil {
				b.Fatal(err)
			}
			d := benchDraft("x")
			b.ReportAllocs()
			for b.Loop() {
				s.Apply(s.Decide(start, d, nil).Facts[0])
			}
		})
	}
}

// BenchmarkFanOutFact: one event to 100,000: decided, encoded and folded. The
// body is written once, whatever the number of receivers; "bytes" is the fact.
func BenchmarkFanOutFact(b *testing.B) {
	subs := []Subscription{{Type: "x"}}
	for _, n := range []int{1, 100_000} {
		s, err := New(Config{}, List(population(n, func(int) []Subscription { return subs })))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				f := s.Decide(start, benchDraft("x"), nil).Facts[0].(*Routed)
				buf = f.AppendMsg(buf[:0])
				s.Apply(f)
			}
			b.ReportMetric(float64(len(buf)), "bytes")
		})
	}
}

// BenchmarkAnnounce: a commit of 100 changes, with one pattern that is touched
// among more and more that are not.
func BenchmarkAnnounce(b *testing.B) {
	w := &WorldUpdated{Before: 1, After: 2}
	for i := range 100 {
		w.Changes = append(w.Changes, WorldChange{Path: fmt.Sprintf("prices.town_%d.gold", i), Op: "set", By: "a"})
	}
	for _, n := range []int{1, 1000, 100_000} {
		s, err := New(Config{}, List(population(n, func(i int) []Subscription {
			return []Subscription{{Type: TypeWorldUpdated, Path: map[bool]string{true: "prices.town_7.*", false: fmt.Sprintf("stock.*.good_%d", i)}[i == 0]}}
		})))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("patterns=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(s.Decide(start, w, nil).Facts) != 1 {
					b.Fatal("one pattern is touched")
				}
			}
		})
	}
}
