package agent

import (
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/person"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

func panelTools() []Tool {
	return []Tool{
		{ToolSpec: person.Spec(), run: (*Turn).askPanel, status: protocol.CallRequested},
		{ToolSpec: person.AskSpec(), External: External{Kind: effect.KindPerson, Timeout: person.MaxTimeout}, status: protocol.CallOK},
	}
}

// askPanel requests a task that a person carries out.
func (t *Turn) askPanel(p tool.Params) (any, error) {
	task, err := person.Ask(p, t.m.Def.Panel, t.tasks.AskedBy(t.m.ID.Instance)+t.peopleAsked)
	if err != nil {
		return nil, err
	}
	t.peopleAsked++
	return map[string]any{"interaction_id": t.askPerson(task)}, nil
}

// askPerson requests a question to a person and gives its id.
func (t *Turn) askPerson(task tooltask.Task) string {
	task.ID, task.Agent, task.Turn = t.out.NextID(), t.m.ID.Instance, t.end.Turn
	t.out.Request(tooltask.Service, (&tooltask.Request{Task: task}).AppendMsg)
	return task.ID
}

// asksPlayer makes of the turn of an agent that a person plays the question what it does. The
// turn leaves everything as it is: the next one perceives it again, with the answer. false =
// nobody plays the agent, or the answer is here.
func (t *Turn) asksPlayer() bool {
	id := t.m.ID.Instance
	t.events, t.played = person.Results(t.events, &t.tasks, id)
	p := t.tasks.PlayerOf(id)
	if p == nil || t.played != nil || t.wake.Workflow != "" {
		return false
	}
	t.idle, t.end = true, agentfact.TurnEnded{Agent: t.end.Agent, Turn: t.end.Turn, Wave: t.end.Wave, Outcome: agentfact.OutcomeAsked, Through: t.end.Through, Asleep: true, WakeAbove: protocol.Critical}
	if !t.tasks.WaitsForPlayer(id) {
		t.askPerson(person.Act(p, t.m.Def.names[t.m.Def.Core], t.input))
	}
	return true
}

// plays decides as the player has said; false = the core workflow decides. What calls of the
// player return its next turn observes.
func (t *Turn) plays() bool {
	outputs, plays := t.played.Outputs(t.tasks.PlayerOf(t.m.ID.Instance), OutputResponse, OutputDecision)
	if plays {
		t.round = t.m.Def.Limits.MaxToolRounds
		t.heed(outputs)
	}
	return plays
}
