package project

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/direct"
	"tavernsim/engine/order"
	"tavernsim/engine/panel"
	"tavernsim/engine/script"
	"tavernsim/protocol"
)

// linkScript checks and compiles the script of a scene.
func (l *loader) linkScript(s *Scene) {
	d := s.Definition.Script
	if d == nil {
		return
	}
	sim := &s.Definition.Simulation
	program, faults := script.Compile(d, script.Checks{
		Selector: s.unmeant, Change: order.Names{Selector: s.unmeant, Question: func(q *panel.Question, open bool) error { return l.takes(s, q, open) }}.Check,
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

// takes refuses a question to people that no panel of the scene takes, whoever is there to answer.
func (l *loader) takes(s *Scene, q *panel.Question, open bool) error {
	p, names := &Panel{}, []string{}
	for _, a := range s.Definition.AssociatedPanels {
		x := l.project.panels[a.PanelID]
		if x == nil { // reported
			continue
		}
		if names = append(names, a.Name()); q.Panel == "" || q.Panel == a.Name() {
			p, q.Panel = x, a.Name()
		}
	}
	if q.Panel != "" && !slices.Contains(names, q.Panel) {
		return protocol.Errorf(protocol.KindNotFound, "there is no panel %q in the scene; it has %s", protocol.Short(q.Panel, 80), cmp.Or(strings.Join(names, ", "), "none"))
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
