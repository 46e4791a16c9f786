package agent

import (
	"strings"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// host answers what a workflow asks on behalf of one turn: calls at once,
// models and nested skills later.
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
	if id, ok := h.turn.skillOf(call.Tool); ok {
		return h.startSkill(id, call, q.ID)
	}
	if x := h.turn.external(call.Tool); x != nil {
		r, ended := h.turn.askTool(x, &call, q.Wait, q.Timeout, waiting{run: h.run, request: q.ID})
		if ended {
			h.record(&call, &r)
		}
		return workflow.Answer{Result: r}, ended
	}
	r := h.turn.perform(&call)
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

// skillOf finds the skill that a call means; tools win over skills.
func (t *Turn) skillOf(name string) (id string, ok bool) {
	if len(t.m.Def.Skills) == 0 || t.m.Def.allowsTool(name) {
		return "", false
	}
	return t.m.Def.skill(name)
}

// perform carries out a call of an atomic tool.
func (t *Turn) perform(c *protocol.Call) protocol.CallResult {
	if !t.m.Def.allowsTool(c.Tool) {
		return failed(t.notAllowed(c.Tool))
	}
	out, err := t.tool(c)
	return resultOf(c, out, err)
}

func resultOf(c *protocol.Call, out any, err error) protocol.CallResult {
	if err != nil {
		return failed(protocol.Errorf(protocol.KindOf(err), "%s: %w", c.Tool, err))
	}
	status := protocol.CallOK
	switch c.Tool {
	case tool.RequestWorldUpdate, tool.WriteKnowledge, tool.PublishEvent, tool.Subscribe, tool.Unsubscribe, tool.Throttle:
		status = protocol.CallRequested
	}
	return protocol.CallResult{Status: status, Output: out}
}

func (t *Turn) notAllowed(name string) *protocol.Error {
	for _, known := range tool.ForProfiles() {
		if known == name || t.m.Def.external[name] != nil {
			return protocol.Errorf(protocol.KindDenied, "tool %s is not in tool_ids_inventory of profile %s", name, t.m.Def.Profile)
		}
	}
	if _, ok := t.m.Def.Workflows[strings.TrimPrefix(name, tool.SkillPrefix)]; ok {
		return protocol.Errorf(protocol.KindDenied, "skill %s is not in skill_workflow_ids_inventory of profile %s", name, t.m.Def.Profile)
	}
	return protocol.Errorf(protocol.KindNotFound, "tool or skill %q does not exist; available_capabilities lists what there is", name)
}

func (t *Turn) startSkill(id string, c *protocol.Call, then func(protocol.CallResult)) {
	if len(t.runs) >= maxNestedRuns {
		then(failed(protocol.Errorf(protocol.KindLimit, "more than %d workflows at once in one deliberation", maxNestedRuns)))
		return
	}
	plan := t.m.Def.Workflows[id]
	for _, name := range protocol.SortedKeys(c.Params) {
		if plan.Input(name) < 0 {
			then(failed(protocol.Errorf(protocol.KindInvalid, "skill %s: unknown input %q; it takes %s", id, name, strings.Join(plan.Inputs(), ", "))))
			return
		}
	}
	t.start(plan, t.coreInputs(plan, c.Params), func(r result) {
		if r.err != nil {
			then(failed(protocol.Errorf(protocol.KindOf(r.err), "skill %s: %w", id, r.err)))
			return
		}
		t.heed(r.outputs)
		then(protocol.CallResult{Status: protocol.CallOK, Output: r.outputs})
	})
}

// maxNestedRuns bounds skills that call skills.
const maxNestedRuns = 16
