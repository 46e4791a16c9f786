package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/travel"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// Announced is the event that the stage publishes about a fact. It publishes changes
// of the world only if some agent had subscribed to them before the wave began; an
// agent that subscribes in a wave hears of the changes of later waves.
func Announced(sc *setup.Scene, f protocol.Fact, hearsWorld bool) (protocol.Raw, bool) {
	if c, ok := worldstate.CommitOf(f); ok && hearsWorld {
		return worldUpdate(c), true
	}
	if draft := finished(f); draft != nil {
		return draft, true
	}
	if x, ok := f.(*agenda.AgentFailed); ok {
		return systemEvent(setup.TypeAgentFailed, map[string]any{
			"agent_instance_id": sc.Name(x.Agent), "error": x.Error, "failures": x.Failures, "given_up": x.WakeAt == 0,
		}), true
	}
	return presenceEvent(sc, f)
}

// presenceEvent is about an agent that came or left.
func presenceEvent(sc *setup.Scene, f protocol.Fact) (protocol.Raw, bool) {
	var o uint32
	var by, reason, other string
	key := ""
	switch x := f.(type) {
	case *agenda.Spawned:
		o, by, reason = x.Agent, x.By, x.Reason
	case *agenda.Removed:
		o, by, reason = x.Agent, x.By, x.Reason
	case *travel.Departed:
		o, by, reason, key, other = x.Agent, x.By, x.Reason, "to", x.To
	case *travel.Arrived:
		o, by, key, other = x.Agent, travel.By, "from", x.From
	case *travel.Returned:
		o, by, reason, key, other = x.Agent, travel.By, x.Error, "refused_by", x.To
	default:
		return nil, false
	}
	payload := map[string]any{"agent_instance_id": sc.Name(o), "profile_id": sc.Profile(o), "by": by, "reason": reason}
	if key != "" {
		payload[key] = other
	}
	return systemEvent(f.FactKind(), payload), true
}

// systemEvent is an event of the scene itself, for the agents that subscribe to it.
func systemEvent(typ string, payload map[string]any) protocol.Raw {
	d := protocol.Draft{EventHeader: protocol.EventHeader{Type: typ, Source: setup.ActorScene}, Body: protocol.Encode(payload)}
	return d.AppendMsg(nil)
}

func worldUpdate(c worldstate.Commit) protocol.Raw {
	w := bus.WorldUpdated{Before: c.Before, After: c.After, Changes: make([]bus.WorldChange, len(c.Changes))}
	for i := range c.Changes {
		x := &c.Changes[i]
		w.Changes[i] = bus.WorldChange{Path: x.Path.String(), Op: string(x.Op), By: x.By, Reason: x.Reason, Request: x.Request}
	}
	return w.AppendMsg(nil)
}
