package machines

import (
	"fmt"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/order"
	"tavernsim/engine/panel"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
)

// questions are the open tasks, as the last decision of their service left them.
func (s *Stage) questions() tooltask.State {
	state, _ := s.View.Shown(tooltask.Service).(tooltask.State)
	return state
}

// holds reports whether scene time stands until a person answers.
func (s *Stage) holds() bool { return s.View.of(tooltask.Service).Holds }

// unsettled says why an order cannot move agents, let them come or go, or end the questions that it names; "" = it can. The order
// is then refused as a whole, before anybody decides about the rest.
func (s *Stage) unsettled(p *order.Plan, by string) string {
	if err := p.Fits(s.asItIs()); err != nil {
		return err.Error()
	}
	if moves := order.Moves(p.Stage, s.asItIs()); len(moves) > 0 {
		if err := s.View.Space().Check(moves); err != nil {
			return "move: " + err.Error()
		}
	}
	shelves, _ := s.View.Shown(knowledge.Service).(knowledge.State)
	if why := p.Reviewed(shelves, s.wave.time); why != "" {
		return why
	}
	if len(p.Settled) == 0 {
		return ""
	}
	tasks := s.questions()
	for i := range p.Settled {
		x := &p.Settled[i]
		if why := s.unanswerable(&tasks, x, by); why != "" {
			return fmt.Sprintf("interaction %s: %s", protocol.Short(x.ID, 80), why)
		}
	}
	return ""
}

func (s *Stage) unanswerable(tasks *tooltask.State, x *order.Settled, by string) string {
	t := tasks.Task(x.ID)
	switch {
	case t == nil:
		for _, p := range tasks.Past {
			if p.ID == x.ID {
				return "it has ended already (" + p.Status + ")"
			}
		}
		return "there is none that is open with this id"
	case t.Kind != tooltask.KindPerson:
		return "it is a call of " + t.Tool + ", which no person answers"
	case x.Status != tooltask.Answered:
		return ""
	}
	q := t.Question()
	if why := panel.NotFor(s.scene.Players(t.Agent, q.Panel), by); why != "" {
		return why
	}
	if q.Schema != nil {
		if err := CheckAnswer(q.Schema, x.Value); err != nil {
			return "the answer does not fit: " + err.Error()
		}
	}
	return ""
}

// CheckAnswer holds an answer against the schema of its question, with every violation.
func CheckAnswer(schema any, value protocol.Raw) error {
	check, err := project.CompileSchema(schema)
	if err != nil {
		return err
	}
	v, err := value.Value()
	if err != nil {
		return err
	}
	return check(v)
}

// settlePeople asks the services to end the questions that an order names, and to review
// suggestions: before anything else of the wave, as unsettled has looked at it.
func (s *Stage) settlePeople(p *order.Plan, by string) {
	for i := range p.Reviews {
		s.tellFirst(knowledge.Service, protocol.Encode(p.Reviews[i].Value()))
	}
	for i := range p.Settled {
		x := &p.Settled[i]
		q := tooltask.Request{Task: tooltask.Task{ID: x.ID}, Settle: &tooltask.Settle{Status: x.Status, By: by, Value: x.Value}}
		s.sequence([]protocol.Sequenced{{To: tooltask.Service, Data: q.AppendMsg(nil)}})
	}
}
