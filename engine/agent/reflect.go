package agent

import (
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/learn"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// reflection is a request of this turn to reflect.
type reflection struct {
	reason string
	goal   any // that it is about, as in active_goals; nil = none
	done   bool
}

// wantReflection makes the turn reflect after the rest of its decision.
func (t *Turn) wantReflection(p tool.Params) (any, error) {
	if t.m.Def.Reflection == "" {
		return nil, protocol.Errorf(protocol.KindNotFound, "profile %s has no reflection workflow (reflection_workflow_id, or one skill whose id holds \"reflect\")", t.m.Def.Profile)
	}
	if err := t.m.State.Mind().MayReflect(t.m.Def.Memory, t.wake.Now); err != nil {
		return nil, err
	}
	if t.reflect == nil {
		t.reflect = &reflection{reason: p.Text("reason")}
	}
	return nil, nil
}

// startReflection runs the reflection skill (§2.1.5). Beside the inputs of every
// deliberation it gets the calls of this turn with their results, and the reason.
func (t *Turn) startReflection() {
	id := t.m.Def.Reflection
	plan, ok := t.m.Def.Workflows[id]
	if !ok {
		t.out.Note(&agentfact.Reflected{Reason: t.reflect.reason, Error: "no reflection workflow"})
		return
	}
	t.end.Reflections++
	t.start(protocol.PurposeReflect, plan, t.coreInputs(protocol.PurposeReflect, plan, t.reflectionInputs()), (*Turn).reflected)
}

// actionsValue lists the calls of a turn with their outcome.
func actionsValue(facts []protocol.Fact) []any {
	out := []any{}
	for _, f := range facts {
		if c, ok := f.(*agentfact.CallMade); ok {
			v := c.Observed()
			v["params"], _ = c.Params.Value()
			out = append(out, v)
		}
	}
	return out
}

// reflected keeps the results: entries for the knowledge base, changes of the
// private state, goals. A response is treated like that of the core workflow.
func (t *Turn) reflected(r result) {
	f := &agentfact.Reflected{Reason: t.reflect.reason, Workflow: t.m.Def.Reflection}
	t.out.Note(f)
	if r.err != nil {
		f.Error = r.err.Error()
		t.problem("reflection: " + f.Error)
		return
	}
	t.heed(r.outputs)
	writes := t.m.Def.Memory.Bases()
	t.each(r.outputs["entries"], func(e map[string]any) {
		t.short(toolWriteKnowledge, learn.Write(e, writes))
	})
	if v, ok := r.outputs["private_state"].(map[string]any); ok {
		t.short(private.Tool, map[string]any{"op": private.OpMerge, "value": v})
	}
	t.each(r.outputs["goals"], func(g map[string]any) { t.short(toolUpdateGoal, g) })
}
