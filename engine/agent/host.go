package agent

import (
	"maps"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// Request implements workflow.Host for one turn: calls are answered at once, models
// and nested skills later.
func (r *activeRun) Request(q *workflow.Request) (workflow.Answer, bool) {
	t := r.turn
	if q.Ask == workflow.AskModel {
		return t.askModel(r, q)
	}
	call := q.Call
	call.ID, call.Origin = t.nextCallID(), protocol.OriginWorkflow
	entry, skill, refused := t.m.Def.find(&call)
	switch {
	case skill != "":
		return r.startSkill(skill, call, q.ID)
	case entry != nil && entry.kind != "":
		res, ended := t.askTool(entry, &call, q.Wait, q.Timeout, waiting{run: r, request: q.ID})
		if ended {
			t.recordOfNode(&call, &res)
		}
		return workflow.Answer{Result: res}, ended
	}
	res := t.perform(entry, &call, refused)
	t.recordOfNode(&call, &res)
	res.Output = readable(res.Output)
	return workflow.Answer{Result: res}, true
}

// startSkill runs a skill for a node; it may have ended when Request returns.
func (r *activeRun) startSkill(id string, call protocol.Call, request int) (workflow.Answer, bool) {
	var now workflow.Answer
	answered, waiting := false, false
	r.turn.startSkill(id, &call, func(res protocol.CallResult) {
		r.turn.recordOfNode(&call, &res)
		if waiting {
			_ = r.run.Answer(request, workflow.Answer{Result: res}) // refused when the run was cancelled meanwhile
			return
		}
		now, answered = workflow.Answer{Result: res}, true
	})
	waiting = !answered
	return now, answered
}

// recordOfNode makes the fact of a node's call. The workflow has the result, so the
// next turn is shown failures only.
func (t *Turn) recordOfNode(call *protocol.Call, r *protocol.CallResult) {
	r.ID, r.Tool = call.ID, call.Tool
	t.record(call, r, r.Status == protocol.CallFailed || r.Status == protocol.CallDenied)
}

// perform carries out a call within the turn, or adds its request to a service. A
// call that is refused or has a wrong parameter has no effect.
func (t *Turn) perform(entry *Tool, c *protocol.Call, refused *protocol.Error) protocol.CallResult {
	if refused != nil {
		return failed(refused)
	}
	params, err := bind.Bind(c, &entry.schema)
	if err != nil {
		return wrongParams(c, err)
	}
	out, err := entry.run(t, params)
	return resultOf(c, entry.status, out, err)
}

func wrongParams(c *protocol.Call, err error) protocol.CallResult {
	return failed(protocol.Errorf(protocol.KindOf(err), "parameters of %s: %w", c.Tool, err))
}

func resultOf(c *protocol.Call, status protocol.CallStatus, out any, err error) protocol.CallResult {
	if err != nil {
		return failed(protocol.Errorf(protocol.KindOf(err), "%s: %w", c.Tool, err))
	}
	return protocol.CallResult{Status: status, Output: out}
}

func (t *Turn) startSkill(id string, c *protocol.Call, then func(protocol.CallResult)) {
	if len(t.runs) >= maxNestedRuns {
		then(failed(protocol.Errorf(protocol.KindLimit, "more than %d workflows at once in one deliberation", maxNestedRuns)))
		return
	}
	plan := t.m.Def.Workflows[id]
	params, err := bind.Bind(c, t.m.Def.schemas[id])
	if err != nil {
		then(failed(protocol.Errorf(protocol.KindOf(err), "inputs of skill %s: %w", id, err)))
		return
	}
	t.start(protocol.PurposeSkill, plan, t.coreInputs(plan, params), func(r result) {
		if r.err != nil {
			then(failed(protocol.Errorf(protocol.KindOf(r.err), "skill %s: %w", id, r.err)))
			return
		}
		t.heed(r.outputs)
		then(protocol.CallResult{Status: protocol.CallOK, Output: maps.Clone(r.outputs)})
	})
}

// maxNestedRuns bounds skills that call skills.
const maxNestedRuns = 16
