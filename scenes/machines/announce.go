package machines

import (
	"cmp"

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
	p, moved := presenceOf(f)
	if !moved {
		return nil, false
	}
	payload := map[string]any{"agent_instance_id": sc.Name(p.agent), "profile_id": sc.Profile(p.agent), "by": p.by, "reason": p.reason + p.refused}
	if p.key != "" {
		payload[p.key] = p.other
	}
	return systemEvent(f.FactKind(), payload), true
}

// presence is that an agent came or left.
type presence struct {
	agent               uint32
	here                bool
	by, reason, refused string // refused: why another scene sent it back
	key, other          string // the other scene, and what it is to the agent
}

func presenceOf(f protocol.Fact) (p presence, moved bool) {
	switch x := f.(type) {
	case *agenda.Spawned:
		p = presence{agent: x.Agent, here: true, by: x.By, reason: x.Reason}
	case *agenda.Removed:
		p = presence{agent: x.Agent, by: x.By, reason: x.Reason}
	case *travel.Departed:
		p = presence{agent: x.Agent, by: x.By, reason: x.Reason, key: "to", other: x.To}
	case *travel.Arrived:
		p = presence{agent: x.Agent, here: true, by: travel.By, key: "from", other: x.From}
	case *travel.Returned:
		p = presence{agent: x.Agent, here: true, by: travel.By, refused: x.Error, key: "refused_by", other: x.To}
	default:
		return p, false
	}
	return p, true
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
		w.Changes[i] = bus.WorldChange{Path: x.Path.String(), Op: string(x.Op), By: x.By, Reason: x.Reason, Request: cmp.Or(x.Request, c.Batch)}
	}
	return w.AppendMsg(nil)
}
