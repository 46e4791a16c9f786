package agent

import (
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/agent/worldview"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

func worldTools() []Tool {
	return []Tool{
		{ToolSpec: worldview.ReadSpec(), run: func(t *Turn, p tool.Params) (any, error) { return t.world.Read(p) }, status: protocol.CallOK},
		Tool{ToolSpec: worldview.RequestSpec(), run: (*Turn).requestWorld, status: protocol.CallRequested}.toldByItsFact(),
	}
}

// requestWorld adds one request to the world service.
func (t *Turn) requestWorld(p tool.Params) (any, error) {
	q := worldstate.Request{Change: world.Request{ID: t.out.NextID(), By: t.m.ID.Instance, Profile: t.m.Def.Profile, Cause: world.Cause{Turn: t.end.Turn}}}
	if e := t.out.Cause; e != nil {
		q.Change.Cause.Trace, q.Change.Cause.Event = e.TraceID, e.ID
	}
	if err := t.world.Request(&q, p, &t.out, &t.space.paths); err != nil {
		return nil, err
	}
	t.out.Request(worldstate.Service, q.AppendMsg)
	return tool.RequestID(q.Change.ID), nil
}
