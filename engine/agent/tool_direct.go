package agent

import (
	"tavernsim/engine/agent/direct"
	"tavernsim/engine/agent/tool"
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
