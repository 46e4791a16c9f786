package project

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/direct"
	"tavernsim/engine/order"
	"tavernsim/engine/panel"
	"tavernsim/engine/script"
	"tavernsim/scenes/load/roads"
)

// linkScript checks and compiles the script of a scene.
func (l *loader) linkScript(s *Scene) {
	d := s.Definition.Script
	if d == nil {
		return
	}
	sim := &s.Definition.Simulation
	program, faults := script.Compile(d, script.Checks{
		Selector: s.unmeant, Change: order.Names{Name: s.unnamed, Question: func(q *panel.Question, open bool) error { return l.takes(s, q, open) }}.Check,
		EventType: func(typ string) string { return badEventType(typ, false) },
		Workflow: func(steps []any, ref string, inputs []string, all bool) string {
			return l.runs(s, at(append([]any{"script"}, steps...)...), ref, inputs, all)
		},
		Schema: func(schema any, steps []any) func(any) error { return l.answerSchema(s, schema, steps) },
		Stops:  sim.Stop != (agenda.Stop{}) || l.opt.Stops,
	})
	for _, f := range faults {
		steps := at(append([]any{"script"}, f.Steps...)...)
		say := l.saying(f.Strict)
		if f.Warning {
			say = l.warn
		}
		say(s.doc, steps, f.Suggestion, "%s", f.Message)
	}
	s.Script = program
}

// unnamed says what is wrong with a name in a field of a change; "" = the scene has it.
func (s *Scene) unnamed(kind, field, name string) string {
	if fault, is := roads.Unknown(s.Definition, s.Space, kind, field, name); is {
		return fault
	}
	return s.unmeant(name)
}

// takes refuses a question to people that no panel of the scene takes, whoever is there to answer.
func (l *loader) takes(s *Scene, q *panel.Question, open bool) error {
	p, err := l.project.PanelFor(s, q)
	if err != nil {
		return err
	}
	if !open {
		return p.Complete(q)
	}
	_, has := p.Actions[q.Action]
	if _, built, _ := panel.BuiltIn(q.Action, nil); !has && !built {
		return p.Unknown(q.Action)
	}
	return nil
}

// runs finds a workflow that the script runs.
func (l *loader) runs(s *Scene, steps []string, ref string, inputs []string, all bool) string {
	id := l.workflowRef(s.doc, steps, ref)
	w, ok := l.project.workflows.find(id)
	if !ok || w.Plan == nil { // reported
		return ""
	}
	if err := direct.CheckInputs(w.Plan, inputs); err != nil {
		l.fault(s.doc, steps, "", "%s", err)
	}
	for i, name := range w.Plan.Inputs() {
		port := w.Plan.InputPort(i)
		if all && port.Required && port.Default == nil && name != "event" && !slices.Contains(inputs, name) && !slices.Contains(agent.CoreInputs(), name) {
			l.strict(s.doc, steps, "give it in inputs", "the workflow %s requires the input %q", id, name)
		}
	}
	return id
}

func (l *loader) answerSchema(s *Scene, schema any, steps []any) func(any) error {
	return l.schemaAt(s.doc, at(append([]any{"script"}, steps...)...), schema).Fits
}
