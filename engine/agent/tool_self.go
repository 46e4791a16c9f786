package agent

import (
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/pace"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// Tools by which an agent changes its goals, speaks, reflects, sleeps, and reads what
// max_tool_prompt_bytes has left out of its prompt.
const (
	toolUpdateGoal = "UpdateGoalTool"
	toolReflect    = "ReflectTool"
	toolSleep      = "SleepTool"
	toolDescribe   = "DescribeToolTool"
)

func selfTools() []Tool {
	return []Tool{
		folds(func(t *Turn, p tool.Params) (any, error) { return nil, t.changeGoal(p, goal.Self, "") }, toolUpdateGoal, "Adds, changes or ends one of your goals.", tool.Goal()...).toldByItsFact(),
		folds((*Turn).wantReflection, toolReflect, "Enters reflection after this deliberation.",
			tool.Optional("reason", "string", "what to think about")),
		folds((*Turn).sleep, toolSleep, "Deliberates next after this time, or when an event of enough priority arrives.",
			pace.Params()...),
		folds(func(t *Turn, p tool.Params) (any, error) { t.say(p.Text("text")); return nil, nil }, "SayTool", "Says something aloud: history, and an event agent.said.",
			tool.Required("text", "string", "what to say")).toldByItsFact(),
		folds(func(t *Turn, p tool.Params) (any, error) { return t.m.Def.describe(p.Text("tool")) }, toolDescribe, "Describes a tool or skill that you may call: its whole description, and the JSON Schema of its parameters.",
			tool.Required("tool", "string", "its id")),
	}
}

// changeGoal carries out what the agent, or the author of an event, wants of a goal.
func (t *Turn) changeGoal(p tool.Params, source, by string) error {
	c, err := t.goals.Change(p, source, by, &t.out)
	if c != nil {
		t.goalChanged(c, by)
	}
	return err
}

func (t *Turn) sleep(p tool.Params) (any, error) {
	asked, err := pace.Ask(p, t.m.Def.ZeroSleeps)
	if err != nil {
		return nil, err
	}
	t.dozes = asked.Sleep
	t.end.Asleep, t.end.WakeAbove, t.end.SleepUntil = true, asked.Above, 0
	if asked.For > 0 {
		t.end.SleepUntil = t.wake.Now.Add(asked.For)
	}
	return nil, nil
}

// say utters a text: as a fact, and as an event for the agents that subscribe to it.
func (t *Turn) say(text string) {
	t.out.Spend(outbox.EntryBytes + len(text))
	t.out.Note(&agentfact.Said{Text: text})
	t.out.Publish(protocol.Draft{EventHeader: protocol.EventHeader{Type: agentfact.EventSaid}, Body: protocol.Encode(map[string]any{"text": text})})
}

// describe is the entry of a tool or skill as it was before max_tool_prompt_bytes.
func (d *Definition) describe(id string) (any, error) {
	entry, skill, refused := d.find(&protocol.Call{Tool: id})
	if refused != nil {
		return nil, refused
	}
	return d.described[entry.id(skill)], nil
}
