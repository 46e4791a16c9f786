package agent

import (
	"maps"
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// asking is a question to the hooks of a place. A turn asks one after the other, in the order
// in which its questions came up: so their answers come in that order, too.
type asking struct {
	place, subject string // subject: id of the workflow, "" = it is about the turn
	told           map[string]any
	then           func(hook.Answer) // with a veto also when the turn has been cancelled
}

// questions are those of a turn to hooks.
type questions struct {
	list     []asking // the first is out
	asked    int      // so far
	first    bool     // those of the turn were asked
	starting int      // workflows that wait for their hooks
}

func (t *Turn) askHooks(q asking) {
	if t.hooks.list = append(t.hooks.list, q); len(t.hooks.list) == 1 {
		t.sendHooks()
	}
}

// sendHooks asks the first question.
func (t *Turn) sendHooks() {
	t.hooks.asked++
	ask := put(&t.wishes, effect.Ask{Kind: effect.KindHook, Number: t.hooks.asked, First: t.hooks.asked, Call: &protocol.Call{Tool: t.hooks.list[0].place, Params: t.hooks.list[0].told}})
	ask.Model.Agent, ask.Model.Profile, ask.Model.Now = t.m.ID.Instance, t.m.Def.Profile, t.wake.Now
	t.send(ask, waiting{hook: true})
}

// hooksAnswered keeps an answer and acts on it.
func (t *Turn) hooksAnswered(a *effect.Answered) {
	q := t.hooks.list[0]
	t.hooks.list = t.hooks.list[1:]
	answer := hook.Read(a.Output, a.Err, t.m.Def.Hooks[q.place])
	f := &agentfact.HookAnswered{Place: q.place, Subject: q.subject, Request: int64(a.Number), Veto: answer.Veto}
	if a.Output != nil {
		f.Output = t.out.Encode(a.Output)
	}
	if a.Err != nil {
		f.Error, f.ErrorKind = a.Err.Error(), protocol.KindOf(a.Err)
	}
	t.out.Spend(outbox.EntryBytes)
	t.out.Note(f)
	if len(t.hooks.list) > 0 {
		t.sendHooks()
	}
	q.then(answer)
}

// abandonHooks drops all questions.
func (t *Turn) abandonHooks(reason string) {
	all := t.hooks.list
	t.hooks.list = nil
	for _, q := range all {
		q.then(hook.Answer{Veto: reason})
	}
}

// asksFirst asks the hooks of the turn before its core workflow starts; false = there are
// none, or they were asked.
func (t *Turn) asksFirst() bool {
	place := hook.BeforeDeliberate
	if t.wake.Workflow != "" {
		place = t.wake.Workflow // of the scene's own agent: a moment of the scene, or a workflow
	}
	if t.hooks.first || !t.m.Def.Hooks.Has(place) {
		return false
	}
	t.hooks.first = true
	told := map[string]any{"now": t.wake.Now.String()}
	if place == hook.BeforeDeliberate {
		seen := [][]any{valuesOf(t.events, t.eventValue), valuesOf(t.observations, Observation.value)}
		more, left := hook.Told([]string{"events", "observations"}, func(i int) any { return seen[i] })
		maps.Copy(told, more)
		leftOut(told, left)
	}
	t.askHooks(asking{place: place, told: told, then: func(a hook.Answer) {
		switch {
		case t.cancelled:
		case a.Veto != "" && place == hook.BeforeDeliberate:
			t.end.Seen = 0 // the next deliberation observes what this one did not
			t.cancel(a.Veto)
		default:
			for _, o := range a.Observations {
				t.observations = append(t.observations, Observation{Time: t.wake.Now, Kind: "plugin:" + o.Plugin, Value: o.Value})
			}
			t.startCore()
		}
	}})
	return true
}

func leftOut(told map[string]any, names []any) {
	if len(names) > 0 {
		told["left_out"] = names
	}
}

// beforeExecute starts a workflow when its hooks have answered. Its number, which its chance
// depends on, is that of the question.
func (t *Turn) beforeExecute(in within, purpose protocol.Purpose, plan *workflow.Plan, inputs []any, by *Tool, then ending) {
	number, cause := t.started, t.out.Cause
	t.hooks.starting++
	values, left := hook.Told(t.m.Def.inputs(plan), func(i int) any { return inputs[i] })
	told := map[string]any{"workflow": plan.ID(), "purpose": string(purpose), "inputs": values}
	leftOut(told, left)
	t.askHooks(asking{place: hook.BeforeExecute, subject: plan.ID(), told: told, then: func(a hook.Answer) {
		t.hooks.starting--
		t.out.Cause = cause
		if a.Veto != "" {
			then(t, result{err: forbidden(plan.ID(), a.Veto, t.cancelled)})
			return
		}
		if len(a.Values) > 0 {
			inputs = slices.Clone(inputs)
			for name, v := range a.Values {
				if i := plan.Input(name); i >= 0 {
					inputs[i] = v
				}
			}
		}
		t.launch(number, in, purpose, plan, inputs, by, then)
	}})
}

func forbidden(workflow, why string, cancelled bool) error {
	if cancelled {
		return protocol.Errorf(protocol.KindCancelled, "workflow %s: %s", workflow, why)
	}
	return protocol.Errorf(protocol.KindDenied, "workflow %s: %s", workflow, why)
}

// afterExecute hands the result of a workflow over when its hooks have answered.
func (t *Turn) afterExecute(id string, purpose protocol.Purpose, res result, then ending) {
	told := map[string]any{"workflow": id, "purpose": string(purpose)}
	if res.err != nil {
		told["error"] = res.err.Error()
	} else {
		res.outputs = maps.Clone(res.outputs) // other workflows may end before the answer
		names := protocol.SortedKeys(res.outputs)
		values, left := hook.Told(names, func(i int) any { return tool.Readable(res.outputs[names[i]]) })
		told["outputs"] = values
		leftOut(told, left)
	}
	t.hooks.starting++
	cause := t.out.Cause
	t.askHooks(asking{place: hook.AfterExecute, subject: id, told: told, then: func(a hook.Answer) {
		t.hooks.starting--
		t.out.Cause = cause
		switch {
		case a.Veto != "":
			res = result{err: forbidden(id, a.Veto, t.cancelled)}
		case res.err == nil:
			maps.Copy(res.outputs, a.Values)
		}
		then(t, res)
	}})
}
