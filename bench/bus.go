package bench

import (
	"fmt"
	"runtime"
	"strings"
	"sync"

	"tavernsim/actors"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// BusOptions say what to measure.
type BusOptions struct {
	Subscribers   int // that hear the event that is fanned out
	Types         int // of events, for routing
	Subscriptions int // to them, spread evenly
	Rounds        int // each side has one turn in each
	Filterings    int // events of one turn of the sides with filters; 0 = 100,000
}

// Bus is what the event channel costs: the machine that routes, and the
// mailboxes that it delivers to.
type Bus struct {
	Subscribers int `json:"subscribers"`
	Rounds      int `json:"rounds"`

	FanOut      Spread   `json:"fan_out"`                   // per delivery: encode, route, fold, deliver, handle
	Pointer     Spread   `json:"bare_pointer"`              // per delivery: the same mailboxes, one pointer to each
	FanOutRatio float64  `json:"fan_out_to_bare_pointer"`   // CPU
	BodyBytes   int      `json:"body_bytes"`                // encoded once for all of them
	Bytes       float64  `json:"alloc_bytes_per_delivery"`  // cells, in blocks
	Types       int      `json:"types"`                     //
	Subscribed  int      `json:"subscriptions"`             //
	Route       Spread   `json:"route"`                     // one event among all these
	RouteAlone  Spread   `json:"route_one_subscription"`    // the same event, alone
	RouteRatio  float64  `json:"route_to_one_subscription"` // CPU
	Filters     []Filter `json:"filters"`
	Decode      Spread   `json:"decode"`                // of the payload, once for an event: filters and receivers share it
	FilterSelf  Spread   `json:"filter_per_subscriber"` // one evaluation of a filter that differs from receiver to receiver
}

// Filter is what a filter adds to an event.
type Filter struct {
	Text  string `json:"text"`
	More  Spread `json:"more"`  // beside another one: the payload is decoded
	First Spread `json:"first"` // alone: the payload is decoded for it
}

// RunBus measures.
func RunBus(o BusOptions) (Bus, error) {
	b := Bus{Subscribers: o.Subscribers, Rounds: o.Rounds, Types: o.Types, Subscribed: o.Subscriptions}
	if err := b.fanOut(o); err != nil {
		return b, err
	}
	if err := b.route(o); err != nil {
		return b, err
	}
	return b, b.filter(o)
}

// population makes subscribers; those of one profile share their list.
func population(n int, subs func(i int) []bus.Subscription) []bus.Subscriber {
	list := make([]bus.Subscriber, n)
	for i := range list {
		list[i] = bus.Subscriber{InstanceID: fmt.Sprint("agent_", i), ProfileID: "p", Subscriptions: subs(i)}
	}
	return list
}

func everybody(n int, sub bus.Subscription) []bus.Subscriber {
	subs := []bus.Subscription{sub}
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

// letterBytes is about how large the body of the fan-out is: so large that what
// is allocated for a delivery shows whether it was copied.
const letterBytes = 4 << 10

// fanOut publishes one event to everybody, through the machine and the
// mailboxes, beside one pointer to each of the same mailboxes.
func (b *Bus) fanOut(o BusOptions) error {
	channel, err := bus.New(bus.Config{}, everybody(o.Subscribers, bus.Subscription{Type: "chat.said"}))
	if err != nil {
		return err
	}
	letter := map[string]any{"message": strings.Repeat("all of them ", letterBytes/12)}
	b.BodyBytes = len(protocol.Encode(letter))
	done := &sync.WaitGroup{}
	sys := actors.NewSystem(actors.Options{})
	sup := &actors.Supervisor{Middleware: delivery.Chain{delivery.InOrder{}}}
	refs := make([]*actors.Ref, 0, o.Subscribers)
	defer func() { stopAll(sys, refs) }()
	for i := range o.Subscribers {
		ref, err := sys.Spawn(actors.Spec{Name: fmt.Sprint("a", i), ID: uint32(i), First: &target{left: 1, quota: 1, done: done}, Supervisor: sup})
		if err != nil {
			return err
		}
		refs = append(refs, ref)
	}
	fan := &side{run: func() int {
		done.Add(o.Subscribers)
		f := decide(channel, draft("chat.said", protocol.Encode(letter)))
		channel.Apply(f)
		event := f.Event("bench").Envelope
		for r := range f.Receivers.All() {
			refs[r].Tell(event)
		}
		done.Wait()
		return o.Subscribers
	}}
	env := sampleEvent()
	bare := &side{run: func() int {
		done.Add(o.Subscribers)
		for _, r := range refs {
			r.Tell(env)
		}
		done.Wait()
		return o.Subscribers
	}}
	fan.run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fan.run()
	runtime.ReadMemStats(&after)
	b.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(o.Subscribers)
	alternate(o.Rounds, fan, bare)
	b.FanOut, b.Pointer, b.FanOutRatio = fan.spread(), bare.spread(), ratio(fan, bare)
	return nil
}

// decisions of one turn of a side.
const decisions = 20_000

func routes(s *bus.State, eventType string, times int) *side {
	d := draft(eventType, protocol.Encode(payload()))
	return &side{run: func() int {
		for range times {
			decide(s, d)
		}
		return times
	}}
}

// perAgent is how many subscriptions each agent of the crowd holds.
const perAgent = 10

func (b *Bus) route(o BusOptions) error {
	spread := population(max(1, o.Subscriptions/perAgent), func(i int) []bus.Subscription {
		subs := make([]bus.Subscription, perAgent)
		for j := range subs {
			subs[j].Type = fmt.Sprint("type.", (i*perAgent+j)%o.Types)
		}
		return subs
	})
	crowded, err := bus.New(bus.Config{}, spread)
	if err != nil {
		return err
	}
	alone, err := bus.New(bus.Config{}, everybody(1, bus.Subscription{Type: "type.7"}))
	if err != nil {
		return err
	}
	many, one := routes(crowded, "type.7", decisions), routes(alone, "type.7", decisions)
	alternate(o.Rounds, many, one)
	b.Route, b.RouteAlone, b.RouteRatio = many.spread(), one.spread(), ratio(many, one)
	return nil
}

// filterCrowd is how many subscribers a filter that reads self is asked for.
const filterCrowd = 1000

// filterTexts are the two shapes that profiles use most: what an event says, and
// whom it means.
func filterTexts() []string {
	return []string{"payload.message.includes('help')", "payload.target_npc_id === self.instance_id"}
}

func (b *Bus) filter(o BusOptions) error {
	n := o.Filterings
	if n <= 0 {
		n = 100_000 // what is told apart is little
	}
	none, err := filtering(1, n)
	if err != nil {
		return err
	}
	self, err := filtering(filterCrowd, max(1, n/filterCrowd), "payload.amount < self.instance_id.length")
	if err != nil {
		return err
	}
	sides := []*side{none, self, decoding(n)}
	for _, text := range filterTexts() {
		one, err := filtering(1, n, text)
		if err != nil {
			return err
		}
		more, err := filtering(1, n, spellings(text)...)
		if err != nil {
			return err
		}
		sides = append(sides, one, more)
	}
	alternate(o.Rounds, sides...)
	b.FilterSelf, b.Decode = self.spread().over(filterCrowd), sides[2].spread()
	for i, text := range filterTexts() {
		one, more := sides[3+2*i], sides[4+2*i]
		b.Filters = append(b.Filters, Filter{Text: text, First: one.less(none).spread(), More: more.less(one).spread().over(moreFilters)})
	}
	return nil
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
func filtering(subscribers, times int, filters ...string) (*side, error) {
	subs := []bus.Subscription{}
	for _, text := range filters {
		subs = append(subs, bus.Subscription{Type: "chat.said", FilterCondition: text})
	}
	if len(filters) == 0 {
		subs = []bus.Subscription{{Type: "chat.said"}}
	}
	list := population(subscribers, func(int) []bus.Subscription { return subs })
	list[0].InstanceID = "agent_7" // whom the payload names
	if subscribers > 7 {
		list[7].InstanceID = "agent_0"
	}
	s, err := bus.New(bus.Config{}, list)
	if err != nil {
		return nil, err
	}
	return routes(s, "chat.said", times), nil
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

// less is what one side costs beyond another, round by round; 0 where the
// difference is lost in the noise.
func (s *side) less(o *side) *side {
	minus := func(a, b []float64) []float64 {
		out := make([]float64, len(a))
		for i := range a {
			out[i] = max(0, a[i]-b[i])
		}
		return out
	}
	return &side{wall: minus(s.wall, o.wall), cpu: minus(s.cpu, o.cpu), alloc: minus(s.alloc, o.alloc)}
}

func (s Spread) over(n float64) Spread {
	return Spread{Median: s.Median / n, Min: s.Min / n, Max: s.Max / n, CPU: s.CPU / n, Allocs: s.Allocs / n}
}
