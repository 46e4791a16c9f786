package bench

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"tavernsim/actors"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// BenchmarkFanOut publishes one event to everybody, through the machine that routes
// and into real mailboxes, beside one pointer to each of the same mailboxes.
func BenchmarkFanOut(b *testing.B) {
	channel, pointer, bytes := fanOut(b, 100_000)
	alternate(b, channel, pointer)
	channel.report(b, "channel")
	pointer.report(b, "pointer")
	b.ReportMetric(ratio(channel, pointer), "x-pointer")
	b.ReportMetric(bytes(), "alloc-B/delivery")
}

// The body is encoded once for all, and a delivery allocates cells alone.
func TestADeliveryCostsItsCell(t *testing.T) {
	channel, _, bytes := fanOut(t, 2000)
	channel.run()
	channel.once()
	if channel.alloc[0] > 1.1 {
		t.Errorf("%.2f allocations for one delivery, want the cell at most", channel.alloc[0])
	}
	if each := bytes(); each > letterBytes/8 {
		t.Errorf("%.0f bytes allocated for one delivery of a body of %d", each, letterBytes)
	}
}

// letterBytes is about how large the body of the fan-out is: so large that what
// is allocated for a delivery shows whether it was copied.
const letterBytes = 4 << 10

// fanOut makes the two sides, and a measurement of the bytes that one delivery
// through the channel allocates.
func fanOut(tb testing.TB, n int) (channel, pointer *side, bytes func() float64) {
	state := routing(tb, everybody(n, bus.Subscription{Type: "chat.said"}))
	letter := map[string]any{"message": strings.Repeat("all of them ", letterBytes/12)}
	var done sync.WaitGroup
	sup := &actors.Supervisor{Middleware: delivery.Chain{delivery.InOrder{}}}
	refs := spawn(tb, n, sup, func() actors.Behavior { return &target{left: 1, quota: 1, done: &done} })
	channel = &side{run: func() int {
		done.Add(n)
		f := decide(state, draft("chat.said", protocol.Encode(letter)))
		state.Apply(f)
		event := f.Event("bench").Envelope
		for r := range f.Receivers.All() {
			refs[r].Tell(event)
		}
		done.Wait()
		return n
	}}
	env := sampleEvent()
	pointer = &side{run: func() int {
		done.Add(n)
		for _, r := range refs {
			r.Tell(env)
		}
		done.Wait()
		return n
	}}
	return channel, pointer, func() float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		channel.run()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	}
}

// BenchmarkRoute routes one event among many subscriptions, beside the same event
// among one.
func BenchmarkRoute(b *testing.B) {
	const subscriptions, types, perAgent = 1_000_000, 10_000, 10
	many := routes(routing(b, population(subscriptions/perAgent, func(i int) []bus.Subscription {
		subs := make([]bus.Subscription, perAgent)
		for j := range subs {
			subs[j].Type = fmt.Sprint("type.", (i*perAgent+j)%types)
		}
		return subs
	})), "type.7", 20_000)
	one := routes(routing(b, everybody(1, bus.Subscription{Type: "type.7"})), "type.7", 20_000)
	alternate(b, many, one)
	many.report(b, "many")
	one.report(b, "one")
	b.ReportMetric(ratio(many, one), "x-one")
}

// BenchmarkFilter is what a filter adds to an event: alone, where the payload is
// decoded for it ("first"), and beside another one ("more"). The decoding alone is
// beside it.
func BenchmarkFilter(b *testing.B) {
	const times = 100_000 // what is told apart is little
	for name, text := range filterTexts() {
		b.Run("on="+name, func(b *testing.B) {
			none, one, more, decode := filtering(b, 1, times), filtering(b, 1, times, text), filtering(b, 1, times, spellings(text)...), decoding(times)
			alternate(b, none, one, more, decode)
			b.ReportMetric(median(minus(one.cpu, none.cpu)), "first-cpu-ns")
			b.ReportMetric(median(minus(more.cpu, one.cpu))/moreFilters, "more-cpu-ns")
			decode.report(b, "decode")
		})
	}
	b.Run("on=self", func(b *testing.B) { // no form that names its receiver: asked for each
		const crowd = 1000
		self := filtering(b, crowd, times/crowd, "payload.amount < self.instance_id.length")
		alternate(b, self)
		b.ReportMetric(median(self.cpu)/crowd, "each-cpu-ns")
	})
}

// filterTexts are the two shapes that profiles use most: what an event says, and
// whom it means.
func filterTexts() map[string]string {
	return map[string]string{"payload": "payload.message.includes('help')", "target": "payload.target_npc_id === self.instance_id"}
}

// The first filter pays for the decoding of the payload, one more does not.
func TestFiltersShareThePayload(t *testing.T) {
	const times = 2000
	allocs := func(s *side) float64 { s.run(); s.once(); return s.alloc[0] }
	none, decode := allocs(filtering(t, 1, times)), allocs(decoding(times))
	for name, text := range filterTexts() {
		one, more := allocs(filtering(t, 1, times, text)), allocs(filtering(t, 1, times, spellings(text)...))
		if decode < 4 || one-none < decode || (more-one)/moreFilters > 3 {
			t.Errorf("%s: %.1f allocations without a filter, %.1f with one, %.1f with %d; decoding takes %.1f", name, none, one, more, moreFilters+1, decode)
		}
	}
}

// subscriber is one agent of a list.
type subscriber struct {
	id            string
	subscriptions []bus.Subscription
}

// listed implements bus.Subscribers.
type listed struct {
	list     []subscriber
	ordinals map[string]uint32
}

func (l listed) Len() int                                  { return len(l.list) }
func (l listed) Name(o uint32) string                      { return l.list[o].id }
func (l listed) Profile(uint32) string                     { return "p" }
func (l listed) Subscriptions(o uint32) []bus.Subscription { return l.list[o].subscriptions }
func (l listed) Ordinal(id string) (o uint32, ok bool)     { o, ok = l.ordinals[id]; return o, ok }

func routing(tb testing.TB, list []subscriber) *bus.State {
	ordinals := map[string]uint32{}
	for o := range list {
		ordinals[list[o].id] = uint32(o)
	}
	s, err := bus.New(bus.Config{}, listed{list, ordinals})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// population makes subscribers; those of one profile share their list.
func population(n int, subs func(i int) []bus.Subscription) []subscriber {
	list := make([]subscriber, n)
	for i := range list {
		list[i] = subscriber{fmt.Sprint("agent_", i), subs(i)}
	}
	return list
}

func everybody(n int, subs ...bus.Subscription) []subscriber {
	return population(n, func(int) []bus.Subscription { return subs })
}

func payload() map[string]any {
	return map[string]any{"message": "please help me with the barrel", "target_npc_id": "agent_7", "amount": int64(3)}
}

func draft(eventType string, body protocol.Raw) *protocol.Draft {
	return &protocol.Draft{EventHeader: protocol.EventHeader{Source: "agent_1", Type: eventType, TraceID: "t1", Chain: []protocol.Link{{Agent: "agent_2", Type: "a"}, {Agent: "agent_3", Type: "b"}}}, Body: body}
}

// decide routes one event.
func decide(s *bus.State, d *protocol.Draft) *bus.Routed {
	f, _ := s.Decide(1, d, nil).Facts[0].(*bus.Routed)
	return f
}

func routes(s *bus.State, eventType string, times int) *side {
	d := draft(eventType, protocol.Encode(payload()))
	return &side{run: func() int {
		for range times {
			decide(s, d)
		}
		return times
	}}
}

// moreFilters are compared with one: what one costs is too little to be told
// from what an event costs.
const moreFilters = 10

// spellings are filters that say the same and are distinct.
func spellings(text string) []string {
	list := []string{text}
	for i := range moreFilters {
		list = append(list, text+strings.Repeat(" ", i+1))
	}
	return list
}

// filtering routes an event to subscribers with these filters, or with none.
func filtering(tb testing.TB, subscribers, times int, filters ...string) *side {
	subs := []bus.Subscription{}
	for _, text := range filters {
		subs = append(subs, bus.Subscription{Type: "chat.said", FilterCondition: text})
	}
	if len(filters) == 0 {
		subs = []bus.Subscription{{Type: "chat.said"}}
	}
	list := everybody(subscribers, subs...)
	list[0].id = "agent_7" // whom the payload names
	if subscribers > 7 {
		list[7].id = "agent_0"
	}
	return routes(routing(tb, list), "chat.said", times)
}

// decoding is the payload's part of it.
func decoding(n int) *side {
	raw := protocol.Encode(payload())
	return &side{run: func() int {
		for range n {
			if _, err := raw.Value(); err != nil {
				panic(err) // what Encode made
			}
		}
		return n
	}}
}

// minus is what one side costs beyond another, round by round; 0 where the
// difference is lost in the noise.
func minus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = max(0, a[i]-b[i])
	}
	return out
}
