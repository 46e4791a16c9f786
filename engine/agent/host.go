package agent

import (
	"maps"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// host answers the requests of a workflow for one turn: calls at once, models and
// nested skills later.
type host struct {
	turn *Turn
	run  *activeRun
}

// Request implements workflow.Host.
func (h *host) Request(q *workflow.Request) (workflow.Answer, bool) {
	if q.Ask == workflow.AskModel {
		return h.turn.askModel(h.run, q)
	}
	call := q.Call
	call.ID, call.Origin = h.turn.nextCallID(), protocol.OriginWorkflow
	entry, skill, refused := h.turn.m.Def.find(&call)
	switch {
	case skill != "":
		return h.startSkill(skill, call, q.ID)
	case entry != nil && entry.kind != "":
		r, ended := h.turn.askTool(entry, &call, q.Wait, q.Timeout, waiting{run: h.run, request: q.ID})
		if ended {
			h.record(&call, &r)
		}
		return workflow.Answer{Result: r}, ended
	}
	var r protocol.CallResult
	if refused != nil {
		r = failed(refused)
	} else {
		r = h.turn.perform(entry, &call)
	}
	h.record(&call, &r)
	return workflow.Answer{Result: r}, true
}

// startSkill runs a skill for a node; it may have ended when Request returns.
func (h *host) startSkill(id string, call protocol.Call, request int) (workflow.Answer, bool) {
	run := h.run
	var now workflow.Answer
	answered, waiting := false, false
	h.turn.startSkill(id, &call, func(r protocol.CallResult) {
		h.record(&call, &r)
		if waiting {
			_ = run.run.Answer(request, workflow.Answer{Result: r}) // refused when the run was cancelled meanwhile
			return
		}
		now, answered = workflow.Answer{Result: r}, true
	})
	waiting = !answered
	return now, answered
}

func (h *host) record(call *protocol.Call, r *protocol.CallResult) {
	r.ID, r.Tool = call.ID, call.Tool
	h.turn.record(call, r, r.Status == protocol.CallFailed || r.Status == protocol.CallDenied)
}

// perform carries out a call within the turn, or adds its request to a service. A
// call with a wrong parameter has no effect.
func (t *Turn) perform(entry *Tool, c *protocol.Call) protocol.CallResult {
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
	t.start(plan, t.coreInputs(plan, params), func(r result) {
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
