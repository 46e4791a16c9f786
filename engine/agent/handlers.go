package agent

import (
	"tavernsim/engine/agent/direct"
	"tavernsim/engine/bus/eventtype"
	"tavernsim/engine/cast"
	"tavernsim/protocol"
)

// startHandlers starts, for every perceived event, the workflow that the scene
// runs on its type.
func (t *Turn) startHandlers() {
	for _, e := range t.events {
		if !t.m.Def.OneCause {
			t.out.Cause = e
		}
		if q := direct.ReadRun(e, t.m.ID.Instance); q != nil {
			t.runAsked(q, e)
		} else if plan, ok := t.m.Def.Workflows[t.m.Def.OnEvent[eventtype.Underscored(e.Type)]]; ok {
			t.start(protocol.PurposeDeliberate, plan, t.coreInputs(protocol.PurposeDeliberate, plan, direct.Heard(t.eventValue(e), t.m.Def.inputs(plan), CoreInputs())), (*Turn).coreEnded)
		}
	}
	if len(t.events) > 0 {
		t.out.Cause = t.events[0]
	}
}

// runAsked runs the workflow that an event of the scene asks its own agent for.
func (t *Turn) runAsked(q *direct.Run, e *protocol.Envelope) {
	plan := t.m.Def.Workflows[q.Workflow] // it was checked
	t.start(protocol.PurposeDeliberate, plan, t.coreInputs(protocol.PurposeDeliberate, plan, q.Given(t.eventValue(e))), func(t *Turn, r result) {
		told := q.Told(t.out.NextID(), t.m.ID.Instance, r.outputs[direct.OutputResult], r.err)
		if told != nil {
			t.out.Request(cast.Stage, told.AppendMsg)
		}
		if told != nil && r.err != nil {
			t.problem(r.err.Error())
		} else {
			t.coreEnded(r)
		}
	})
}
