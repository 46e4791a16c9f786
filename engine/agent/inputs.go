package agent

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/whereabouts"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// coreInputs computes those inputs of a deliberation (§2.1.1) that the interface of
// the workflow names.
func (t *Turn) coreInputs(purpose protocol.Purpose, plan *workflow.Plan, given map[string]any) []any {
	return t.fill(make([]any, len(t.m.Def.inputs(plan))), purpose, plan, given)
}

// fill computes them into a list of their number.
func (t *Turn) fill(inputs []any, purpose protocol.Purpose, plan *workflow.Plan, given map[string]any) []any {
	names := t.m.Def.inputs(plan)
	t.purpose = purpose
	for _, first := range []bool{true, false} { // what is wrong with knowledge is observed
		for i, name := range names {
			if (name == "knowledge") != first {
				continue
			}
			var ok bool
			if inputs[i], ok = given[name]; !ok && (purpose != protocol.PurposeSkill || t.m.Def.gives(plan, i, name)) {
				inputs[i] = t.input(name)
			}
		}
	}
	return inputs
}

// CoreInputs lists what a core workflow may name in its interface.
func CoreInputs() []string {
	return []string{"world_state", "private_state", "active_goals", "knowledge", "interaction_history", "incoming_events",
		"available_capabilities", "observations", "self", "now", "turn", "world_version", inputConversation, inputRound, "tools", "scene", "surroundings", "tasks", memory.Base, memory.Summary}
}

// givenTo are those inputs of a skill that a call need not give.
func (d *Definition) givenTo(plan *workflow.Plan) (names []string) {
	if plan == nil {
		return nil
	}
	for i, name := range plan.Inputs() {
		if slices.Contains(CoreInputs(), name) && d.gives(plan, i, name) {
			names = append(names, name)
		}
	}
	return names
}

// gives reports whether a skill has an input from the engine if its call does not give it. One of a type that it does not fit is the
// skill's own, and so is a required one that agents of the definition do not have.
func (d *Definition) gives(plan *workflow.Plan, i int, name string) bool {
	port := plan.InputPort(i)
	has := true
	switch name {
	case "scene":
		has = d.Ordered
	case "surroundings":
		has = d.InSpace
	case memory.Base, memory.Summary:
		has = d.Memory != nil
	}
	typ, _ := coreInput(name)
	return (has || !port.Required) && workflow.Fits(typ, port.DataFlowType)
}

func (t *Turn) input(name string) any {
	if _, of := coreInput(name); of != nil {
		return of(t)
	}
	return nil
}

// coreInput is the type of such an input, and how a turn computes it; nil = there is none of that name.
func coreInput(name string) (typ workflow.Type, of func(*Turn) any) {
	switch name {
	case "world_state":
		return workflow.Object, func(t *Turn) any { return t.world.Perceived(t.m.Def.Perceives, t.m.ID.Instance) }
	case "private_state":
		return workflow.Object, func(t *Turn) any { return t.own.Private }
	case "active_goals":
		return workflow.Array, func(t *Turn) any { return t.goals.Active() }
	case "knowledge":
		return workflow.Array, func(t *Turn) any { return t.activatedKnowledge() }
	case "interaction_history":
		return workflow.Array, func(t *Turn) any { return t.list(valuesOf(t.m.State.said(), t.m.utteranceValue)) }
	case "incoming_events":
		return workflow.Array, func(t *Turn) any { return t.list(valuesOf(t.events, t.eventValue)) }
	case "available_capabilities":
		return workflow.Object, func(t *Turn) any { return t.m.Def.Capabilities() }
	case "observations":
		return workflow.Array, func(t *Turn) any { return t.list(valuesOf(t.observations, Observation.value)) }
	case "self":
		return workflow.Object, func(t *Turn) any { return t.m.self() }
	case "now":
		return workflow.String, func(t *Turn) any { return t.wake.Now.String() }
	case "turn":
		return workflow.Integer, func(t *Turn) any { return int64(t.end.Turn) }
	case "world_version": // for expected_version
		return workflow.Integer, func(t *Turn) any { return t.world.Version() }
	case inputConversation:
		return workflow.Array, func(t *Turn) any { return t.talk.Messages() }
	case inputRound:
		return workflow.Integer, func(t *Turn) any { return int64(t.round) }
	case "tools":
		return workflow.Array, func(t *Turn) any { return t.m.Def.menu }
	case memory.Base:
		return workflow.Array, func(t *Turn) any { return t.recalled() }
	case memory.Summary:
		return workflow.String, func(t *Turn) any { return t.summary() }
	case "surroundings":
		return workflow.Object, func(t *Turn) any { return whereabouts.Surroundings(t.wake.View, t.m.ID.Ordinal) }
	case "tasks":
		return workflow.Object, func(t *Turn) any { return t.assigns().Input() }
	case "scene":
		return workflow.Object, func(t *Turn) any { return turns.Seen(t.wake.View, t.m.ID.Ordinal) }
	}
	return "", nil
}

// Lookup gives what conditions of models read (protocol.ModelRequest.Asker).
func (t *Turn) Lookup(root string) (any, bool) {
	if root == "goals" {
		return t.goals.Active(), true
	}
	if root != "self" {
		return nil, false
	}
	self := maps.Clone(t.m.self())
	self["private_state"] = t.own.Private
	return self, true
}

// self is what workflows know of their agent; nobody changes it. It is made once, because it is a tenth
// of what a turn allocates.
func (m *Machine) self() map[string]any {
	if m.knownBy != m.Def {
		m.known, m.knownBy = maps.Clone(m.Def.self), m.Def
		m.known["instance_id"], m.known["ordinal"] = m.ID.Instance, int64(m.ID.Ordinal)
	}
	return m.known
}

// selfSize is how large self is, as a budget of workflows counts it.
func (m *Machine) selfSize() int { return m.Def.selfSize + len(m.ID.Instance) }

// isKnown reports whether an input is what self made: a skill may have been given another.
func (m *Machine) isKnown(input any) bool {
	v, ok := input.(map[string]any)
	return ok && m.known != nil && reflect.ValueOf(v).UnsafePointer() == reflect.ValueOf(m.known).UnsafePointer()
}

// list is a list as a value; most are empty, and share one.
func (t *Turn) list(values []any) any {
	if len(values) == 0 {
		return t.space.nothing
	}
	return values
}

func valuesOf[T any](list []T, value func(T) map[string]any) []any {
	return mapped(list, func(e T) any { return value(e) })
}

func mapped[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, e := range list {
		out[i] = f(e)
	}
	return out
}

func (m *Machine) utteranceValue(u Utterance) map[string]any {
	return map[string]any{"time": u.Time.String(), "who": cmp.Or(u.Who, m.ID.Instance), "type": u.Type, "text": u.Text}
}

// eventValue is an event as a workflow of this agent gets it: with the number of
// redeliveries and the task, which depend on the receiver.
func (t *Turn) eventValue(e *protocol.Envelope) map[string]any {
	v := protocol.EventValue(e)
	if !e.RequiresAck && e.TaskID == "" && !t.m.Def.Limits.Interrupt.On {
		return v
	}
	meta, _ := v["metadata"].(map[string]any)
	if h := t.m.State.find(e); h != nil && h.redelivered() > 0 {
		meta["redelivered"] = h.redelivered()
	}
	if task := t.m.State.taskValue(e, t.events); task != nil {
		meta["task"] = task
	}
	return v
}
