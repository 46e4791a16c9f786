package agent

import (
	"maps"
	"time"

	"tavernsim/engine/agent/hook"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// within are the bounds of a workflow that a call runs.
type within struct {
	wait    time.Duration // before its first requests leave, on the realtime clock
	timeout time.Duration // on its own clock; 0 = none
}

// startWithin starts a workflow, when its hooks have answered.
func (t *Turn) startWithin(in within, purpose protocol.Purpose, plan *workflow.Plan, inputs []any, by *Tool, then func(result)) {
	t.started++
	if len(t.m.Def.Hooks) > 0 && !t.cancelled && t.m.Def.Hooks.Has(hook.BeforeExecute) {
		t.beforeExecute(in, purpose, plan, inputs, by, then)
		return
	}
	t.launch(t.started, in, purpose, plan, inputs, by, then)
}

// skillCall is a call that a workflow carries out, with its repetitions. Its inputs are bound
// once: an attempt that changed something is not repeated.
type skillCall struct {
	turn     *Turn
	entry    *Tool // that the workflow carries out; nil = none
	id       string
	call     *protocol.Call
	inputs   []any
	within   within
	attempts int
	draw     protocol.Draw // of the pauses
	then     func(protocol.CallResult)

	calls, sequenced, queued int // of the turn, when the attempt began
}

// begin makes an attempt.
func (x *skillCall) begin() {
	t := x.turn
	x.attempts++
	x.calls, x.sequenced, x.queued = len(t.calls), len(t.sequenced), len(t.queue)
	t.startWithin(x.within, protocol.PurposeSkill, t.m.Def.Workflows[x.id], x.inputs, x.entry, x.ended)
}

// ended takes the result of an attempt.
func (x *skillCall) ended(r result) {
	t := x.turn
	if r.err != nil {
		again, note := x.again(&r)
		if again {
			x.begin()
		} else {
			x.then(failed(protocol.Errorf(protocol.KindOf(r.err), "skill %s: %w%s", x.id, r.err, note)))
		}
		return
	}
	if err := x.entry.checkedOutput(r.outputs); err != nil {
		x.then(resultOf(x.call, "", nil, err))
		return
	}
	if !x.entry.bounded() { // else they would be calls that it may not make
		t.heed(r.outputs)
	}
	x.then(resultOf(x.call, protocol.CallOK, maps.Clone(r.outputs), nil))
}

// again lets the pause before the next attempt pass, if there is one: the call asks for it,
// the failure may pass, and there is time. All attempts share the time-out. The note says
// why there is none although the call asks for one.
func (x *skillCall) again(r *result) (again bool, note string) {
	t, kind := x.turn, protocol.KindOf(r.err)
	if t.cancelled || x.attempts > min(x.call.Retry, tool.MaxRetries) || !tool.MayPass(kind) {
		return false, ""
	}
	if x.acted() {
		return false, "; it is not repeated, for it has called what must not be called twice"
	}
	pause := tool.Pause(x.attempts, &x.draw)
	if x.within.timeout > 0 {
		x.within.timeout -= r.took + pause
		if x.within.timeout <= 0 || t.m.Def.Realtime && kind == protocol.KindTimeout { // nobody knows how much is left
			return false, ""
		}
	}
	x.within.wait = pause
	t.end.Elapsed += pause
	return true, ""
}

// acted reports whether the attempt left more than answers: a request to a service, a call
// that the turn will carry out, a change of the agent, or a call that an executor must not
// get twice. Calls of an attempt have numbers of their own, so also one with a key would be
// carried out twice.
func (x *skillCall) acted() bool {
	t := x.turn
	if len(t.sequenced) > x.sequenced || len(t.queue) > x.queued {
		return true
	}
	for i := range t.calls[x.calls:] {
		f := &t.calls[x.calls+i]
		entry := t.m.Def.tools[f.Tool]
		if entry == nil || f.Status == protocol.CallDenied {
			continue // a skill has calls of its own
		}
		if entry.kind != "" && !entry.free || entry.inFact && f.Status == entry.status {
			return true
		}
	}
	return false
}

// checkedOutput says what is wrong with the outputs of the workflow that carries the tool out.
func (t *Tool) checkedOutput(outputs map[string]any) error {
	if t == nil || t.checkOutput == nil {
		return nil
	}
	if err := t.checkOutput(outputs); err != nil {
		return protocol.Errorf(tool.KindBadOutput, "the output breaks outputSchema: %w", err)
	}
	return nil
}
