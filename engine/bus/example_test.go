package bus_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/bus"
	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// Curfew lets nobody hear gossip at night, and what elders hear comes first.
// A middleware is a pure function of its configuration, the message and the
// verdict of those before it.
type Curfew struct{ From, To int } // hours

func (c Curfew) Judge(m delivery.Message, v delivery.Verdict) delivery.Verdict {
	hour := time.Unix(0, int64(m.Now)).UTC().Hour()
	switch night := hour >= c.From || hour < c.To; {
	case night && strings.HasPrefix(m.Type, "gossip."):
		return v.Drop("curfew")
	case strings.HasPrefix(m.Receiver, "elder_"):
		return v.In(delivery.High, "respect")
	}
	return v
}

// Villagers are the agents that the channel asks about, by ordinal. All hear the same.
type Villagers struct {
	names []string
	hears []bus.Subscription
}

func (v Villagers) Len() int                                { return len(v.names) }
func (v Villagers) Name(o uint32) string                    { return v.names[o] }
func (v Villagers) Profile(uint32) string                   { return "villager" }
func (v Villagers) Subscriptions(uint32) []bus.Subscription { return v.hears }
func (v Villagers) Ordinal(id string) (uint32, bool) {
	o := slices.Index(v.names, id)
	return uint32(max(o, 0)), o >= 0
}

// A scene takes middlewares with setup.Options.Middleware (or
// runner.Options.Middleware); here the channel is asked by itself.
func Example_middleware() {
	hears := []bus.Subscription{{Type: "gossip.*"}, {Type: "fire"}}
	channel, err := bus.New(bus.Config{Middleware: delivery.Chain{Curfew{From: 22, To: 6}}}, Villagers{[]string{"elder_mo", "kim"}, hears})
	if err != nil {
		fmt.Println(err)
		return
	}
	night := protocol.TimeOf(time.Date(2000, 1, 1, 23, 0, 0, 0, time.UTC))
	for _, eventType := range []string{"gossip.baker", "fire"} {
		fact := channel.Decide(night, &protocol.Draft{EventHeader: protocol.EventHeader{Type: eventType}}, nil).Facts[0]
		channel.Apply(fact)
		switch f := fact.(type) {
		case *bus.Refused:
			fmt.Println(eventType, "refused:", f.Reason, f.Detail)
		case *bus.Routed:
			fmt.Println(eventType, f.Receivers.Len(), "receivers, elder_mo at", f.PriorityFor("elder_mo"), f.Marks)
		}
	}
	// Output:
	// gossip.baker refused: middleware curfew (2 receivers refused)
	// fire 2 receivers, elder_mo at high [{elder_mo middleware:respect high}]
}
