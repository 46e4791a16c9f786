package project

import (
	"errors"

	"tavernsim/engine/agenda"
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
		Schema:    func(schema any, steps []any) func(any) error { return l.answerSchema(s, schema, steps) },
		Stops:     sim.Stop != (agenda.Stop{}) || l.opt.Stops,
	})
	for _, f := range faults {
		steps := at(append([]any{"script"}, f.Steps...)...)
		if f.Warning {
			l.warn(s.doc, steps, f.Suggestion, "%s", f.Message)
		} else {
			l.fault(s.doc, steps, f.Suggestion, "%s", f.Message)
		}
	}
	s.Script = program
}

func (l *loader) answerSchema(s *Scene, schema any, steps []any) func(any) error {
	compiled := l.schemaAt(s.doc, at(append([]any{"script"}, steps...)...), schema)
	if compiled == nil {
		return nil
	}
	return func(v any) error {
		if list := compiled.check(v); len(list) > 0 {
			return errors.New(joinViolations(list))
		}
		return nil
	}
}
