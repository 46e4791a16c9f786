package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/menu"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/permit"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tam/bind"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
)

// Options are those of one call.
type Options struct {
	Project *project.Project
	Policy  *permit.Judge          // nil = every call is allowed
	Profile string                 // that the policy judges; "" = none
	Turn    uint64                 // in whose place the call stands
	Waits   bool                   // repetitions wait
	Stands  func(tool string) bool // whether Call answers in the place of its workflow; nil = never
	Call    func(context.Context, *effect.Ask) tools.Result
	Audit   Audit // nil = nobody is told
}

// Audit is told of a call, and carries it out by do.
type Audit func(t *project.Tool, params map[string]any, do func() tools.Result) tools.Result

// Try makes one call of a tool. Wrong parameters are a result, too.
func Try(ctx context.Context, opt Options, t *project.Tool, params map[string]any, retries int) tools.Result {
	x := &trial{opt: opt, ctx: ctx}
	return x.call(t, &protocol.Call{Tool: t.Definition.ID, Params: params, Origin: protocol.OriginNative, Retry: retries}, 0, 0)
}

// Find finds a tool of a project by an id as models may write it.
func Find(p *project.Project, id string) (*project.Tool, error) {
	found, near := bind.FindTool(id, p.ToolIDs())
	if t, ok := p.Tool(found); ok {
		return t, nil
	}
	hint := ""
	if len(near) > 0 {
		hint = "; perhaps " + strings.Join(near, " or ")
	}
	return nil, protocol.Errorf(protocol.KindNotFound, "the project has no tool %q%s", id, hint)
}

// trial is one call, with the calls that its workflow makes.
type trial struct {
	opt   Options
	ctx   context.Context
	calls int            // that were made
	acted int            // of them, those after which a workflow is not repeated
	depth int            // of workflows that call workflows
	tool  *manifest.Tool // whose workflow runs; nil = none does
	first map[string]int // the number of a node's first attempt, by its path
	over  error          // why the workflow cannot go on
}

// Bounds of a trial.
const (
	maxTrialCalls = 1000
	maxTrialDepth = 16
)

// call is told to whoever keeps an audit.
func (x *trial) call(t *project.Tool, call *protocol.Call, number int, timeout time.Duration) tools.Result {
	do := func() tools.Result { return x.carryOut(t, call, number, timeout) }
	if x.opt.Audit == nil {
		return do()
	}
	return x.opt.Audit(t, call.Params, do)
}

// carryOut judges and carries out a call. number is that of its first attempt; 0 = this is it.
func (x *trial) carryOut(t *project.Tool, call *protocol.Call, number int, timeout time.Duration) tools.Result {
	d := t.Definition
	within := d.Implementation.Within()
	schema, err := bind.SchemaOf(d.Parameters)
	if err != nil {
		return tools.Fail(protocol.KindInvalid, err.Error())
	}
	schema.Loose, schema.References = true, !within // the check lists all faults
	if call.Params, err = bind.Bind(call, &schema); err == nil {
		if call.URIs = bind.References(call, &schema, call.Params); len(call.URIs) == 0 {
			err = t.Check(call.Params)
		}
	}
	if err != nil {
		return tools.Fail(protocol.KindInvalid, err.Error())
	}
	judged := permit.Call{Tool: d.ID, Profile: x.opt.Profile, Params: call.Params, Hidden: bind.Hidden(call.URIs, &schema)}
	v := x.opt.Policy.Judge(&judged)
	if v.Do != permit.Allow {
		r := tools.Fail(protocol.KindDenied, permit.Denial(d.ID, v, permit.Leave{Reason: v.Reason}).Message)
		r.Meta.Tool, r.Meta.Rule = d.ID, v.Rule
		return r
	}
	r := x.allowed(t, call, number, timeout)
	r.Meta.Rule = v.Rule
	return r
}

// allowed carries a call out.
func (x *trial) allowed(t *project.Tool, call *protocol.Call, number int, timeout time.Duration) tools.Result {
	if t.Definition.Implementation.Within() && (x.opt.Stands == nil || !x.opt.Stands(t.Definition.ID)) {
		return x.workflow(t, call, timeout)
	}
	x.calls++
	draw := protocol.NewDraw(1)
	if x.calls > 1 {
		draw = draw.Sub(uint64(x.calls))
	}
	return x.opt.Call(x.ctx, &effect.Ask{
		Kind: "tool", Number: x.calls, First: cmp.Or(number, x.calls), Timeout: timeout, Call: call,
		Model: protocol.ModelRequest{Agent: "cli", Turn: x.opt.Turn, Draw: draw},
	})
}

// workflow runs the workflow that carries out a tool, and again after failures that may pass, as
// an agent does.
func (x *trial) workflow(t *project.Tool, call *protocol.Call, timeout time.Duration) tools.Result {
	a, took := tool.Attempts{Retries: call.Retry, Timeout: timeout, Draw: protocol.NewDraw(1).Sub(uint64(x.depth), againDraws)}, time.Duration(0)
	for {
		acted := x.acted
		r := x.attempt(t, call.Params, a.Timeout)
		last := r.Meta.Latency.Std()
		took += last
		r.Meta.Attempts, r.Meta.Latency = a.Made+1, protocol.Duration(took)
		if r.Error == nil || x.acted > acted {
			return r
		}
		pause, again := a.Again(r.Error.Kind, last)
		if !again || x.waits(pause) != nil {
			return r
		}
		took += pause
	}
}

// againDraws separates the chance of pauses from that of nodes.
const againDraws = 1

// attempt runs it once. The time-out is on its own clock; 0 = there is none.
func (x *trial) attempt(t *project.Tool, params map[string]any, timeout time.Duration) tools.Result {
	d := t.Definition
	id := d.Implementation.ID
	w, ok := x.opt.Project.Workflow(id)
	if !ok || w.Plan == nil {
		return tools.Fail(protocol.KindNotFound, "the project has no workflow "+id)
	}
	args := make([]any, len(w.Plan.Inputs()))
	for i, name := range w.Plan.Inputs() {
		v, given := params[name]
		if !given && slices.Contains(agent.CoreInputs(), name) {
			return tools.Fail(protocol.KindUnknown, "the workflow "+id+" reads "+name+", which only an agent has; run a scene")
		}
		args[i] = v
	}
	inner := &trial{opt: x.opt, ctx: x.ctx, calls: x.calls, depth: x.depth + 1, tool: d, first: map[string]int{}}
	defer func() { x.calls, x.acted = inner.calls, x.acted+inner.acted }()
	if inner.depth > maxTrialDepth {
		return tools.Fail(protocol.KindLimit, "more than 16 workflows call each other")
	}
	var run workflow.Run
	if err := run.Start(w.Plan, args, workflow.Env{Now: protocol.TimeOf(time.Now()), Timeout: timeout, Draw: protocol.NewDraw(1).Sub(uint64(inner.depth))}); err != nil {
		return tools.Fail(protocol.KindOf(err), err.Error())
	}
	run.Advance(workflow.HostFunc(inner.answer)) // every answer is there at once
	r := ended(&run, id, cmp.Or(inner.over, x.ctx.Err()))
	r.Meta = tools.Meta{Tool: d.ID, Attempts: 1, Latency: protocol.Duration(run.Elapsed()), Failed: failed(&run)}
	if b, err := json.Marshal(r.Output); err == nil && r.Output != nil {
		r.Meta.Bytes = int64(len(b))
	}
	r.Check(t.CheckOutput)
	return r
}

// Bounds of what is told of nodes that failed.
const (
	maxFailed    = 8 // nodes
	maxPath      = 100
	maxNodeError = 2 << 10
)

// failed are the nodes that failed, as far as somebody reads them.
func failed(run *workflow.Run) (list []tools.FailedNode) {
	all := run.Failures()
	for _, f := range all[:min(len(all), maxFailed)] {
		list = append(list, tools.FailedNode{Node: protocol.Short(f.Node, maxPath), Kind: protocol.KindOf(f.Err), Error: protocol.Short(f.Err.Error(), maxNodeError)})
	}
	return list
}

// ended is the result of a workflow. over is why it could not go on; nil = it did.
func ended(run *workflow.Run, id string, over error) tools.Result {
	err := cmp.Or(over, run.Err())
	failures := run.Failures()
	outputs := run.Outputs(map[string]any{})
	switch {
	case err != nil:
	case (!run.Complete() || len(outputs) == 0) && len(failures) > 0:
		err = protocol.Errorf(protocol.KindOf(failures[0].Err), "node %s: %w", failures[0].Node, failures[0].Err)
	case !run.Complete():
		err = protocol.Errorf(protocol.KindInvalid, "output %s did not come", run.Missing()[0].Output)
	default:
		return tools.Output(outputs)
	}
	return tools.Fail(protocol.KindOf(err), "workflow "+id+": "+err.Error())
}

// answer is the host of the workflow.
func (x *trial) answer(q *workflow.Request) (workflow.Answer, bool) {
	if x.over == nil {
		x.over = x.refuses(q)
	}
	if err := cmp.Or(x.over, x.ctx.Err()); err != nil {
		return workflow.Answer{Err: err}, true
	}
	if err := x.waits(q.Wait); err != nil {
		return workflow.Answer{Err: err}, true
	}
	t, _ := Find(x.opt.Project, q.Call.Tool) // refuses has found it
	if q.Attempt <= 1 {
		x.first[q.Node] = x.calls + 1
	}
	call := q.Call
	call.Tool, call.Origin = t.Definition.ID, protocol.OriginWorkflow
	r := x.call(t, &call, x.first[q.Node], q.Timeout)
	if d := t.Definition; !d.Implementation.Within() && d.Execution.Repeat != manifest.Free && r.Status != tools.Denied {
		x.acted++
	}
	a := workflow.Answer{Err: r.Err(), Latency: r.Meta.Latency.Std()}
	if a.Err == nil {
		a.Result = protocol.CallResult{ID: call.ID, Tool: call.Tool, Status: protocol.CallOK, Output: r.Output}
	}
	return a, true
}

// waits lets a pause pass, where pauses do.
func (x *trial) waits(d time.Duration) error {
	if d > 0 && x.opt.Waits {
		select {
		case <-time.After(d):
		case <-x.ctx.Done():
		}
	}
	return x.ctx.Err()
}

// refuses says why only an agent can answer a request; nil = it is answered.
func (x *trial) refuses(q *workflow.Request) error {
	if q.Ask == workflow.AskModel {
		return protocol.Errorf(protocol.KindUnknown, "node %s asks a model, and a call outside of a scene has none; run a scene", q.Node)
	}
	t, err := Find(x.opt.Project, q.Call.Tool)
	if err == nil && x.tool != nil && x.tool.Calls() != nil {
		if no := menu.Within(x.tool.Calls(), t.Definition.ID, x.tool.ID); no != nil {
			return no
		}
	}
	switch {
	case err != nil:
		return protocol.Errorf(protocol.KindUnknown, "node %s calls %s, which is no tool of the project: only an agent has it; run a scene", q.Node, protocol.Short(q.Call.Tool, 64))
	case t.Definition.Execution.Mode == manifest.Async:
		return protocol.Errorf(protocol.KindUnknown, "node %s opens a task of %s, and only a scene has tasks; run a scene", q.Node, t.Definition.ID)
	case x.calls >= maxTrialCalls:
		return protocol.Errorf(protocol.KindLimit, "more than %d calls", maxTrialCalls)
	}
	return nil
}
