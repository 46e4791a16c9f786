package agentfact

import (
	"slices"

	"tavernsim/protocol"
)

// Publishers lists the agents that are told of a failed delivery, each once.
func Publishers(f protocol.Fact) (ids []string) {
	switch x := f.(type) {
	case *Unacknowledged:
		return []string{x.Source}
	case *Dropped:
		for _, d := range x.Events {
			if d.Reason == DropQueueFull && !slices.Contains(ids, d.Source) {
				ids = append(ids, d.Source)
			}
		}
	}
	return ids
}

// ObservedUndelivered is the kind of the observations of [Undelivered].
const ObservedUndelivered = "event_undelivered"

// Undelivered lists what a publisher observes of failed deliveries. name gives the
// instance id of a receiver.
func Undelivered(f protocol.Fact, publisher string, name func(uint32) string) (out []map[string]any) {
	tell := func(agent uint32, event string, reason DropReason) {
		out = append(out, map[string]any{"event_id": event, "agent_instance_id": name(agent), "code": string(reason)})
	}
	switch x := f.(type) {
	case *Unacknowledged:
		tell(x.Agent, x.Event, x.Reason)
	case *Dropped:
		for _, d := range x.Events {
			if d.Reason == DropQueueFull && d.Source == publisher {
				tell(x.Agent, d.Event, d.Reason)
			}
		}
	}
	return out
}
