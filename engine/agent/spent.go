package agent

import (
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/budget"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// spent is what the turn has spent so far.
func (t *Turn) spent() block.Spent {
	return block.Spent{Calls: t.end.ToolCalls, Time: t.end.ToolTime, Bytes: t.end.ToolBytes, Cost: t.end.ToolCost}
}

// spentOn counts what a call took, by the fact of its answer. One that was refused took
// nothing, and a person is no tool.
func (t *Turn) spentOn(w *waiting, f *agentfact.CallAnswered) {
	if w.kind == effect.KindPerson {
		return
	}
	if budget.RefusedTool(f.ErrorKind, f.Error) {
		t.end.ToolRefused++
	}
	if f.Error != "" && !f.Carried && !tooltask.Costs(f.ErrorKind) {
		return
	}
	s := block.Spent{Calls: 1, Time: max(f.Latency, 0), Bytes: tool.SizeOf(f.Output, f.Artifacts)}
	if entry := t.m.Def.tools[w.call.Tool]; entry != nil {
		s.Cost = entry.Cost
	}
	sum := t.spent().Plus(s)
	t.end.ToolCalls, t.end.ToolTime, t.end.ToolBytes, t.end.ToolCost = sum.Calls, sum.Time, sum.Bytes, sum.Cost
	if w.run == nil && t.batch != nil {
		t.batch.Spend(w.at, s)
	}
}

// toolsOver refuses a call when the calls before it have taken all that the calls of a
// deliberation may take. Of a batch those count for which the call waits: which others have
// their answers depends on the clock.
func (t *Turn) toolsOver(c *protocol.Call, queued bool) *protocol.Error {
	s := t.spent()
	if queued && t.batch != nil {
		s = t.batch.Spent()
	}
	limits := &t.m.Def.Limits
	switch {
	case s.Time > 0 && s.Time >= limits.MaxToolTime:
		return protocol.Errorf(protocol.KindLimit, "%s: tools have taken %s of %s in this deliberation (custom_runtime_config.max_tool_seconds)", c.Tool, s.Time, limits.MaxToolTime)
	case s.Bytes > 0 && s.Bytes >= limits.MaxToolBytes:
		return protocol.Errorf(protocol.KindLimit, "%s: tools have answered %d of %d bytes in this deliberation (custom_runtime_config.max_tool_bytes)", c.Tool, s.Bytes, limits.MaxToolBytes)
	}
	return nil
}
