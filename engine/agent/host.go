package agent

import (
	"time"

	"tavernsim/engine/agent/menu"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/cast"
	"tavernsim/engine/template"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// Request implements workflow.Host for one turn: calls are answered at once, models
// and nested skills later.
func (r *activeRun) Request(q *workflow.Request) (workflow.Answer, bool) {
	t := r.turn
	q.Wait += r.wait
	if q.Ask == workflow.AskModel {
		return t.askModel(r, q)
	}
	call := q.Call
	call.ID, call.Origin = t.nextCallID(), protocol.OriginWorkflow
	entry, skill, refused := t.m.Def.find(&call)
	if refused == nil && r.tool.bounded() {
		refused = menu.Within(r.tool.Calls, entry.id(skill), r.tool.Name)
	}
	if t.judged(&call, refused, q.Attempt) {
		return r.judgedFirst(entry, skill, call, q)
	}
	return r.act(entry, skill, call, refused, 0, q)
}

// act carries out a call of a node, or lets it be refused.
func (r *activeRun) act(entry *Tool, skill string, call protocol.Call, refused *protocol.Error, number int, q *workflow.Request) (workflow.Answer, bool) {
	t := r.turn
	t.out.Cause = r.cause
	switch {
	case refused != nil:
	case t.searches(entry) && r.queries(entry, skill, call, number, q):
		return workflow.Answer{}, false
	case skill != "":
		return r.startSkill(entry, skill, call, q)
	case entry != nil && entry.Async:
		res := t.openTask(entry, &call, number, q.Timeout)
		t.recordOfNode(&call, &res)
		res.Output = tool.Readable(res.Output)
		return workflow.Answer{Result: res}, true
	case entry != nil && entry.Kind != "":
		res, ended := t.askTool(entry, &call, number, q, waiting{run: r, request: q.ID})
		if ended {
			t.recordOfNode(&call, &res)
		}
		return workflow.Answer{Result: res}, ended
	}
	res := t.perform(entry, &call, refused)
	t.recordOfNode(&call, &res)
	res.Output = tool.Readable(res.Output)
	return workflow.Answer{Result: res}, true
}

// queries reports whether the call waits for the vector of its query.
func (r *activeRun) queries(entry *Tool, skill string, call protocol.Call, number int, q *workflow.Request) bool {
	kept := *q
	return r.turn.queries(entry, &call, waiting{run: r, request: q.ID}, func() {
		if answer, done := r.act(entry, skill, call, nil, number, &kept); done {
			_ = r.run.Answer(kept.ID, answer) // refused when the run was cancelled meanwhile
		}
	})
}

// first is the number of the first attempt of a node's call to an executor, whose
// attempts are one call to the tool.
func (r *activeRun) first(q *workflow.Request, number int) int {
	if n := r.asked[q.Node]; n > 0 && q.Attempt > 1 {
		return n
	}
	if r.asked == nil {
		r.asked = map[string]int{}
	}
	r.asked[q.Node] = number
	return number
}

// startSkill runs a skill for a node; it may have ended when Request returns.
func (r *activeRun) startSkill(entry *Tool, id string, call protocol.Call, q *workflow.Request) (workflow.Answer, bool) {
	var now workflow.Answer
	answered, waiting, request := false, false, q.ID
	r.turn.startSkill(entry, id, &call, within{r.started + q.At, q.Wait, q.Timeout}, func(res protocol.CallResult, took time.Duration) {
		r.turn.recordOfNode(&call, &res)
		now, answered = workflow.Answer{Result: res, Latency: took, InTime: r.turn.m.Def.Realtime}, true
		if waiting {
			_ = r.run.Answer(request, now) // refused when the run was cancelled meanwhile
		}
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
	if entry.directing && !t.m.Def.may(t.m.ID.Instance, cast.Direct) {
		return failed(cast.Denied(c.Tool, t.m.ID.Instance, cast.Direct))
	}
	params, err := t.bound(c, &entry.schema)
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
	if protocol.CheckNested(out) != nil { // facts and observations put it into values
		out = string(template.AppendJSON(nil, out))
	}
	return protocol.CallResult{Status: status, Output: out}
}

// startSkill runs a skill; entry is the tool that it carries out, nil = none. The bounds are
// those of the caller.
func (t *Turn) startSkill(entry *Tool, id string, c *protocol.Call, in within, then func(r protocol.CallResult, took time.Duration)) {
	if len(t.runs)+t.hooks.starting >= maxNestedRuns {
		then(failed(protocol.Errorf(protocol.KindLimit, "more than %d workflows at once in one deliberation", maxNestedRuns)), 0)
		return
	}
	plan := t.m.Def.Workflows[id]
	params, err := t.bound(c, t.m.Def.schema(entry, id))
	if err == nil && entry != nil {
		params, err = entry.checked(params, false)
	}
	switch {
	case err != nil && entry != nil:
		then(wrongParams(c, err), 0)
		return
	case err != nil:
		then(failed(protocol.Errorf(protocol.KindOf(err), "inputs of skill %s: %w", id, err)), 0)
		return
	}
	x := &skillCall{turn: t, entry: entry, id: id, call: c, inputs: t.coreInputs(protocol.PurposeSkill, plan, params), then: then, within: in, begun: in.at}
	x.Attempts = tool.Attempts{Retries: c.Retry, Timeout: in.timeout, Draw: t.draw.Sub(againDraws, t.started)}
	x.begin()
}

// maxNestedRuns bounds skills that call skills.
const maxNestedRuns = 16
