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
	at      time.Duration // when it begins, on the clock of the turn
	wait    time.Duration // before its first requests leave, on the realtime clock
	timeout time.Duration // on its own clock; 0 = none
}

// startWithin starts a workflow, when its hooks have answered.
func (t *Turn) startWithin(in within, purpose protocol.Purpose, plan *workflow.Plan, inputs []any, by *Tool, then ending) {
	t.started++
	if len(t.m.Def.Hooks) > 0 && !t.cancelled && t.m.Def.Hooks.Has(hook.BeforeExecute) {
		t.beforeExecute(in, purpose, plan, inputs, by, then)
		return
	}
	t.launch(t.started, in, purpose, plan, inputs, by, then)
}

// freeRun takes a run from the working memory, or makes one.
func (s *Space) freeRun() *activeRun {
	n := len(s.free)
	if n == 0 {
		return &activeRun{}
	}
	r := s.free[n-1]
	s.free = s.free[:n-1]
	return r
}

// skillCall is a call that a workflow carries out, with its repetitions. Its inputs are bound
// once: an attempt that changed something is not repeated.
type skillCall struct {
	turn   *Turn
	entry  *Tool // that the workflow carries out; nil = none
	id     string
	call   *protocol.Call
	inputs []any
	then   func(r protocol.CallResult, took time.Duration)
	within               // of the attempt
	begun  time.Duration // when the first one began
	tool.Attempts
	calls, sequenced, queued int // of the turn, when the attempt began
}

// begin makes an attempt.
func (x *skillCall) begin() {
	t := x.turn
	x.calls, x.sequenced, x.queued = len(t.calls.Made()), len(t.out.Requests), len(t.queue)
	x.timeout = x.Timeout
	t.passed(x.at)
	t.startWithin(x.within, protocol.PurposeSkill, t.m.Def.Workflows[x.id], x.inputs, x.entry, x.ended)
}

// ended takes the result of an attempt.
func (x *skillCall) ended(t *Turn, r result) {
	if x.at += r.took; r.err != nil {
		x.failed(&r)
		return
	}
	if err := x.entry.checkedOutput(r.outputs); err != nil {
		x.then(resultOf(x.call, "", nil, err), x.at-x.begun)
		return
	}
	if !x.entry.bounded() { // else they would be calls that it may not make
		t.heed(r.outputs)
	}
	x.then(resultOf(x.call, protocol.CallOK, maps.Clone(r.outputs), nil), x.at-x.begun)
}

// failed makes the next attempt, or ends the call.
func (x *skillCall) failed(r *result) {
	t, kind, note := x.turn, protocol.KindOf(r.err), ""
	timed := t.m.Def.Realtime && kind == protocol.KindTimeout && x.Timeout > 0 // nobody knows how much of it is left
	if pause, again := x.Again(kind, r.took); again && !t.cancelled && !timed {
		if !x.acted() {
			x.at, x.wait = x.at+pause, pause
			x.begin()
			return
		}
		note = "; it is not repeated, for it has called what must not be called twice"
	}
	x.then(failed(protocol.Errorf(kind, "skill %s: %w%s", x.id, r.err, note)), x.at-x.begun)
}

// acted reports whether the attempt left more than answers: a request to a service, a call
// that the turn will carry out, a change of the agent, or a call that an executor must not
// get twice. Calls of an attempt have numbers of their own, so also one with a key would be
// carried out twice.
func (x *skillCall) acted() bool {
	t := x.turn
	if len(t.out.Requests) > x.sequenced || len(t.queue) > x.queued {
		return true
	}
	for _, f := range t.calls.Made()[x.calls:] {
		entry := t.m.Def.tools[f.Tool]
		if entry == nil || f.Status == protocol.CallDenied {
			continue // a skill has calls of its own
		}
		if entry.Kind != "" && !entry.Free || entry.inFact && f.Status == entry.status {
			return true
		}
	}
	return false
}

// checkedOutput says what is wrong with the outputs of the workflow that carries the tool out.
func (t *Tool) checkedOutput(outputs map[string]any) error {
	if t == nil || t.CheckOutput == nil {
		return nil
	}
	if err := t.CheckOutput(outputs); err != nil {
		return protocol.Errorf(tool.KindBadOutput, "the output breaks outputSchema: %w", err)
	}
	return nil
}
