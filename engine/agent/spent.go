package agent

import (
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/budget"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// spent is what calls took that executors carried out.
type spent struct {
	calls int64
	time  time.Duration
	bytes int64
	cost  int64 // in nano-dollars
}

func (s spent) plus(o spent) spent {
	return spent{s.calls + o.calls, s.time + o.time, s.bytes + o.bytes, s.cost + o.cost}
}

// spent is what the turn has spent so far.
func (t *Turn) spent() spent {
	return spent{t.end.ToolCalls, t.end.ToolTime, t.end.ToolBytes, t.end.ToolCost}
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
	s := spent{calls: 1, time: max(f.Latency, 0), bytes: tool.SizeOf(f.Output, f.Artifacts)}
	if entry := t.m.Def.tools[w.call.Tool]; entry != nil {
		s.cost = entry.cost
	}
	sum := t.spent().plus(s)
	t.end.ToolCalls, t.end.ToolTime, t.end.ToolBytes, t.end.ToolCost = sum.calls, sum.time, sum.bytes, sum.cost
	if w.run == nil && t.batch != nil {
		t.batch.members[w.at-t.batch.from].spent = s
	}
}

// toolsOver refuses a call when the calls before it have taken all that the calls of a
// deliberation may take. Of a batch those count for which the call waits: which others have
// their answers depends on the clock.
func (t *Turn) toolsOver(c *protocol.Call, queued bool) *protocol.Error {
	s := t.spent()
	if queued && t.batch != nil {
		s = t.batch.spentBefore()
	}
	limits := &t.m.Def.Limits
	switch {
	case s.time > 0 && s.time >= limits.MaxToolTime:
		return protocol.Errorf(protocol.KindLimit, "%s: tools have taken %s of %s in this deliberation (custom_runtime_config.max_tool_seconds)", c.Tool, s.time, limits.MaxToolTime)
	case s.bytes > 0 && s.bytes >= limits.MaxToolBytes:
		return protocol.Errorf(protocol.KindLimit, "%s: tools have answered %d of %d bytes in this deliberation (custom_runtime_config.max_tool_bytes)", c.Tool, s.bytes, limits.MaxToolBytes)
	}
	return nil
}

// spentBefore is what was spent before the batch, and on the calls for which the one that
// starts waits.
func (b *batch) spentBefore() spent {
	seen := make([]bool, len(b.members))
	sum := b.before
	var add func(i int)
	add = func(i int) {
		for _, k := range b.waits[i] {
			if !seen[k] {
				seen[k] = true
				sum = sum.plus(b.members[k].spent)
				add(k)
			}
		}
	}
	add(b.starting)
	return sum
}
