package agent

import (
	"slices"
	"strings"

	"github.com/tinylib/msgp/msgp"

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

// askModel passes a model request on, within the agent's limits.
func (t *Turn) askModel(run *activeRun, q *workflow.Request) (workflow.Answer, bool) {
	limits := t.m.Def.Limits
	if t.end.ModelCalls >= int64(limits.MaxModelCalls) {
		return workflow.Answer{Err: protocol.Errorf(protocol.KindLimit, "more than %d model calls in one deliberation (custom_runtime_config.max_model_calls)", limits.MaxModelCalls)}, true
	}
	if t.end.TokensIn+t.end.TokensOut >= limits.MaxTokens {
		return workflow.Answer{Err: protocol.Errorf(protocol.KindLimit, "%d tokens used in one deliberation (custom_runtime_config.max_tokens)", t.end.TokensIn+t.end.TokensOut)}, true
	}
	t.end.ModelCalls++
	req := q.Model
	req.Agent, req.Profile, req.Now = t.m.ID.Instance, t.m.Def.Profile, t.wake.Now
	req.Draw = t.draw.Sub(modelDraws, uint64(t.end.ModelCalls))
	if req.Timeout == 0 {
		req.Timeout = q.Timeout
	}
	if req.Model == "" {
		req.Model = t.m.Def.Model
	}
	for _, e := range t.events {
		req.Events = append(req.Events, e.Type)
	}
	number := int(t.end.ModelCalls)
	run.asked = append(run.asked, asked{number, q.ID})
	t.asked = append(t.asked, &CallModel{Request: number, Model: req, Wait: q.Wait})
	return workflow.Answer{}, false
}

// modelDraws and toolDraws separate the streams of chance of a turn.
const (
	modelDraws = 1
	toolDraws  = 2
	runDraws   = 3
)

// answer hands a model's answer to the run that asked; false = nobody waits.
func (t *Turn) answer(a *Answered) bool {
	for _, r := range t.runs {
		i := slices.IndexFunc(r.asked, func(q asked) bool { return q.number == a.Request })
		if i < 0 {
			continue
		}
		id := r.asked[i].request
		r.asked = slices.Delete(r.asked, i, i+1)
		t.noteModel(a)
		latency := a.Answer.Latency
		if t.wake.Realtime {
			latency = 0 // it has passed already; the shell enforces time-outs
		}
		a.Answer.Latency = latency
		return r.run.Answer(id, workflow.Answer{Model: a.Answer, Err: a.Err}) == nil
	}
	return false
}

func (t *Turn) noteModel(a *Answered) {
	t.end.TokensIn += a.Answer.Usage.Input
	t.end.TokensOut += a.Answer.Usage.Output
	f := &ModelAnswered{
		Model: a.Answer.Model, Text: a.Answer.Text, Finish: a.Answer.Finish,
		Input: a.Answer.Usage.Input, Output: a.Answer.Usage.Output, Request: int64(a.Request), Reasoning: a.Answer.Reasoning,
		CacheRead: a.Answer.Usage.CacheRead, ReasoningTokens: a.Answer.Usage.Reasoning,
	}
	if !t.wake.Realtime {
		f.Latency = a.Answer.Latency
	}
	if len(a.Answer.Calls) > 0 {
		f.Calls = t.encodeCalls(a.Answer.Calls)
	}
	if a.Err != nil {
		f.Error, f.ErrorKind = a.Err.Error(), protocol.KindOf(a.Err)
		t.end.ModelFailed++
	}
	t.facts = append(t.facts, f)
	if protocol.KindOf(a.Err) == protocol.KindUnknownOutcome {
		t.facts = append(t.facts, &OutcomeUnknown{Effect: "model", Request: int64(a.Request), Error: f.Error})
	}
}

// encodeCalls writes a list of {params, tool}, as the value would be written.
func (t *Turn) encodeCalls(calls []protocol.Call) protocol.Raw {
	from := len(t.space.arena)
	b := msgp.AppendArrayHeader(t.space.arena, uint32(len(calls)))
	for i := range calls {
		b = msgp.AppendMapHeader(b, 2)
		b = msgp.AppendString(b, "params")
		b = protocol.AppendValue(b, paramsValue(calls[i].Params))
		b = msgp.AppendString(b, "tool")
		b = msgp.AppendString(b, calls[i].Tool)
	}
	t.space.arena = b
	return protocol.Raw(b[from:len(b):len(b)])
}

func paramsValue(p map[string]any) map[string]any {
	if p == nil {
		return map[string]any{}
	}
	return p
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
		if known == name {
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
