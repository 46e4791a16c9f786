package bench

import (
	"fmt"
	"runtime"
	"sync"

	"tavernsim/actors"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/verdict"
	"tavernsim/protocol"
)

// BusOptions say what to measure.
type BusOptions struct {
	Subscribers   int // that hear the event that is fanned out
	Types         int // of events, for routing
	Subscriptions int // to them, spread evenly
	Rounds        int // each side has one turn in each
}

// Bus is what the event channel costs: the machine that routes, and the
// mailboxes that it delivers to.
type Bus struct {
	Subscribers int `json:"subscribers"`
	Rounds      int `json:"rounds"`

	FanOut      Spread  `json:"fan_out"`                   // per delivery: encode, route, fold, deliver, handle
	Pointer     Spread  `json:"bare_pointer"`              // per delivery: the same mailboxes, one pointer to each
	FanOutRatio float64 `json:"fan_out_to_bare_pointer"`   // CPU
	BodyBytes   int     `json:"body_bytes"`                // encoded once for all of them
	Bytes       float64 `json:"alloc_bytes_per_delivery"`  // cells, in blocks
	Types       int     `json:"types"`                     //
	Subscribed  int     `json:"subscriptions"`             //
	Route       Spread  `json:"route"`                     // one event among all these
	RouteAlone  Spread  `json:"route_one_subscription"`    // the same event, alone
	RouteRatio  float64 `json:"route_to_one_subscription"` // CPU
	Filter      Spread  `json:"filter"`                    // an event with ten more filters on its payload, less one with one, by ten
	FirstFilter Spread  `json:"first_filter"`              // an event with one filter, less one without: the payload is decoded for it
	FilterSelf  Spread  `json:"filter_per_subscriber"`     // one evaluation of a filter that differs from receiver to receiver
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
	return &protocol.Draft{Source: "agent_1", Type: eventType, TraceID: "t1", Body: body,
		Chain: []protocol.Link{{Agent: "agent_2", Type: "a"}, {Agent: "agent_3", Type: "b"}}}
}

// decide routes one event.
func decide(s *bus.State, d *protocol.Draft) *bus.Routed {
	f, _ := s.Decide(1, d, nil).Facts[0].(*bus.Routed)
	return f
}

// fanOut publishes one event to everybody, through the machine and the
// mailboxes, beside one pointer to each of the same mailboxes.
func (b *Bus) fanOut(o BusOptions) error {
	channel, err := bus.New(bus.Config{}, everybody(o.Subscribers, bus.Subscription{Type: "chat.said"}))
	if err != nil {
		return err
	}
	b.BodyBytes = len(protocol.Encode(payload()))
	done := &sync.WaitGroup{}
	sys := actors.NewSystem(actors.Options{})
	sup := &actors.Supervisor{Middleware: verdict.Chain{verdict.InOrder{}}}
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
		f := decide(channel, draft("chat.said", protocol.Encode(payload())))
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

func (b *Bus) filter(o BusOptions) error {
	var sides []*side
	for _, c := range []struct{ subscribers, filters, times int }{{1, 0, decisions}, {1, 1, decisions}, {1, 1 + moreFilters, decisions}, {filterCrowd, -1, decisions / filterCrowd}} {
		s, err := bus.New(bus.Config{}, filtered(c.subscribers, c.filters))
		if err != nil {
			return err
		}
		sides = append(sides, routes(s, "chat.said", c.times))
	}
	alternate(o.Rounds, sides...)
	none, one, more, self := sides[0].spread(), sides[1].spread(), sides[2].spread(), sides[3].spread()
	b.FirstFilter, b.Filter, b.FilterSelf = one.less(none), more.less(one).over(moreFilters), self.over(filterCrowd)
	return nil
}

// moreFilters are compared with one: what one costs is too little to be told
// from what an event costs.
const moreFilters = 10

// filtered makes subscribers with so many distinct filters on the payload each;
// below 0, with one that reads self.
func filtered(n, filters int) []bus.Subscriber {
	subs := []bus.Subscription{}
	for i := range filters {
		subs = append(subs, bus.Subscription{Type: "chat.said", FilterCondition: fmt.Sprintf("payload.message.includes('help %d') || payload.amount === %d", i, i)})
	}
	switch {
	case filters == 0:
		subs = []bus.Subscription{{Type: "chat.said"}}
	case filters < 0:
		subs = []bus.Subscription{{Type: "chat.said", FilterCondition: "payload.amount < self.instance_id.length"}}
	}
	return population(n, func(int) []bus.Subscription { return subs })
}

func (s Spread) less(o Spread) Spread {
	return Spread{Median: s.Median - o.Median, Min: s.Min - o.Min, Max: s.Max - o.Max, CPU: s.CPU - o.CPU, Allocs: s.Allocs - o.Allocs}
}

func (s Spread) over(n float64) Spread {
	return Spread{Median: s.Median / n, Min: s.Min / n, Max: s.Max / n, CPU: s.CPU / n, Allocs: s.Allocs / n}
}
