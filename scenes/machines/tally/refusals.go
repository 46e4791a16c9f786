package tally

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Kinds of refusals. A delivery is an event that one agent does not perceive.
const (
	RefusedEvent     = "event"
	RefusedDelivery  = "delivery"
	RefusedWorld     = "world"
	RefusedCommand   = "command" // a state command
	RefusedKnowledge = "knowledge"
	RefusedMailbox   = "mailbox"
	RefusedCall      = "call"
	RefusedRequests  = "requests" // of a whole turn
	RefusedChange    = "change"   // that a director asked for
)

// Refusal counts the refusals of one kind for one reason.
type Refusal struct {
	What, Reason string
	Count        int64
	Example      string
}

// Refusals yields the refusals in a fact of an actor, except those of calls: see
// [CallSeen].
func Refusals(actor string, f protocol.Fact, yield func(Refusal)) {
	switch x := f.(type) {
	case *agentfact.TurnEnded:
		if actor != cast.Scene {
			lost(yield, actor, "expired", x.Expired)
			lost(yield, actor, "restart", x.Lost)
			lost(yield, actor, "inbox_full", x.Dropped)
		}
	case *agentfact.Dropped: // TurnEnded counts the events that were dropped to make room
		lost(yield, actor, string(agentfact.DropQueueFull), x.QueueFull)
	case *agentfact.Unacknowledged:
		yield(Refusal{RefusedDelivery, string(x.Reason), 1, x.Type + " to " + actor})
	case *bus.Routed:
		for _, m := range x.Marks {
			if m.Action == bus.LoopDrop {
				yield(Refusal{RefusedDelivery, string(m.Reason.Class()), 1, x.Type + " to " + m.Agent})
			}
		}
	case *bus.Refused:
		yield(Refusal{RefusedEvent, string(x.Reason), 1, x.Type + " of " + x.Source + ": " + x.Detail})
	case *world.Refused:
		yield(Refusal{RefusedWorld, string(x.Code), 1, x.By + ": " + x.Message})
	case *statecmd.Committed:
		commands(x, yield)
	case *knowledge.Refused:
		yield(Refusal{RefusedKnowledge, string(x.Reason), 1, x.By + ": " + x.Message})
	case *agenda.EffectsRefused:
		yield(Refusal{RefusedRequests, "wave_bytes", x.Requests, x.By})
	case *agenda.ChangeRefused:
		yield(Refusal{RefusedChange, string(x.Kind), 1, x.By + ": " + x.Error})
	case *agenda.DeadLettered:
		yield(Refusal{RefusedMailbox, x.Reason, max(1, x.Count), x.Type})
	}
}

func lost(yield func(Refusal), actor, reason string, n int64) {
	if n > 0 {
		yield(Refusal{RefusedDelivery, reason, n, "to " + actor})
	}
}

// commands yields state commands that were rejected or rolled back. Commands without
// a request are the scene's own.
func commands(x *statecmd.Committed, yield func(Refusal)) {
	for i := range x.Audit {
		a := &x.Audit[i]
		if x.Request != "" && (a.Status == statecmd.Rejected || a.Status == statecmd.StatusUndone) {
			yield(Refusal{RefusedCommand, string(a.Code), 1, a.Actor + ": " + string(a.Action) + " " + a.Key + ": " + a.Message})
		}
	}
}

// TurnFailed reports whether a turn ended without a decision. An interrupted turn
// did not fail: it begins again.
func TurnFailed(x *agentfact.TurnEnded) bool {
	return x.Outcome != agentfact.OutcomeOK && x.Outcome != agentfact.OutcomeInterrupted && x.Outcome != agentfact.OutcomeIdle && x.Outcome != agentfact.OutcomeAsked
}

// Setting names the setting that governs a refusal, "" when none does.
func Setting(what, reason string) string {
	switch what {
	case RefusedCall:
		if reason == string(protocol.CallDenied) {
			return "tool_ids_inventory, tool_policy, grants, directors"
		}
	case RefusedWorld:
		switch world.Code(reason) {
		case world.CodeDenied:
			return "world_write_permissions"
		case world.CodeLimit:
			return "simulation.limits.max_world_bytes"
		}
	case RefusedKnowledge:
		if protocol.ErrorKind(reason) == protocol.KindDenied {
			return "access_permissions"
		}
	case RefusedRequests:
		return "simulation.limits.max_wave_bytes"
	case RefusedEvent, RefusedDelivery:
		return deliverySetting(reason)
	}
	return ""
}

func deliverySetting(reason string) string {
	switch reason {
	case string(bus.ReasonDepth):
		return "event_bus_config.max_depth"
	case string(bus.ReasonLoop):
		return "event_bus_config.max_revisits, loop_action"
	case string(bus.ReasonThrottled):
		return "event_bus_config.throttle, max_held"
	case string(bus.ReasonFlood):
		return "simulation.limits.max_events_in_wave, max_deliveries_in_wave"
	case string(bus.ReasonTTL), "expired":
		return "ttl_seconds of the event"
	case "inbox_full":
		return "custom_runtime_config.max_inbox, max_inbox_bytes"
	case string(agentfact.DropQueueFull):
		return "custom_runtime_config.inbox"
	case string(agentfact.DropRedeliveries):
		return "custom_runtime_config.max_redeliveries"
	}
	return ""
}
