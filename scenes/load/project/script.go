package project

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/direct"
	"tavernsim/engine/order"
	"tavernsim/engine/script"
)

// linkScript checks and compiles the script of a scene.
func (l *loader) linkScript(s *Scene) {
	d := s.Definition.Script
	if d == nil {
		return
	}
	sim := &s.Definition.Simulation
	program, faults := script.Compile(d, script.Checks{
		Selector: s.unmeant, Change: order.Check,
		EventType: func(typ string) string { return badEventType(typ, false) },
		Workflow: func(steps []any, ref string, inputs []string) string {
			return l.runs(s, at(append([]any{"script"}, steps...)...), ref, inputs)
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

// runs finds a workflow that the script runs.
func (l *loader) runs(s *Scene, steps []string, ref string, inputs []string) string {
	id := l.workflowRef(s.doc, steps, ref)
	w, ok := l.project.workflows.find(id)
	if !ok || w.Plan == nil { // reported
		return ""
	}
	if err := direct.CheckInputs(w.Plan, inputs); err != nil {
		l.fault(s.doc, steps, "", "%s", err)
	}
	return id
}

func (l *loader) answerSchema(s *Scene, schema any, steps []any) func(any) error {
	return l.schemaAt(s.doc, at(append([]any{"script"}, steps...)...), schema).Fits
}
