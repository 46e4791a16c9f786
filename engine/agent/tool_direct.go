package agent

import (
	"tavernsim/engine/agent/direct"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/protocol"
)

// directTools are the tools of directors: a call of any other agent is denied. The stage
// decides about their requests before the services decide about those of the wave; the
// director observes a refusal.
func directTools() (list []Tool) {
	for _, d := range direct.Tools() {
		list = append(list, Tool{ToolSpec: d.Spec, status: protocol.CallRequested, directing: true, run: func(t *Turn, p tool.Params) (any, error) {
			q, err := direct.Request(&d, t.out.NextID(), t.m.ID.Instance, p)
			if err != nil {
				return nil, err
			}
			t.out.Request(cast.Stage, q.AppendMsg)
			return tool.RequestID(q.ID), nil
		}})
	}
	return list
}

// mayPublish denies an event that would change others to an agent without the right. The
// author of a change of another agent's private state, and its reason, are kept.
func (m *Machine) mayPublish(eventType string, targets []string, ephemeral bool) error {
	right := cast.Needs(eventType)
	switch {
	case eventType == bus.TypeWorldWatched:
		return protocol.Errorf(protocol.KindDenied, "an event %s: the channel alone tells of watched places", eventType)
	case len(targets) == 0 || right == "":
		return nil
	case !m.Def.may(m.ID.Instance, right):
		return cast.Denied("an event "+eventType, m.ID.Instance, right)
	case right == cast.ChangeState && ephemeral:
		return protocol.Errorf(protocol.KindInvalid, "an event %s cannot be ephemeral: its reason is kept", eventType)
	}
	return nil
}
