package agent

import (
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/agent/whereabouts"
	"tavernsim/engine/space"
	"tavernsim/protocol"
)

// spaceTools are the tools of agents in space.
func spaceTools() (list []Tool) {
	for _, d := range whereabouts.Tools() {
		entry := Tool{ToolSpec: d.Spec, status: protocol.CallOK, run: func(t *Turn, p tool.Params) (any, error) {
			q, out, err := d.Call(&whereabouts.Asker{Instance: t.m.ID.Instance, Ordinal: t.m.ID.Ordinal, View: t.wake.View, Request: t.out.NextID()}, p)
			if q == nil || err != nil {
				return out, err
			}
			t.out.Request(space.Service, q.AppendMsg)
			return tool.RequestID(q.ID), nil
		}}
		if d.Spec.Name == whereabouts.Move {
			entry.status = protocol.CallRequested
		}
		list = append(list, entry)
	}
	return list
}
