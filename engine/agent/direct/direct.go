// Package direct holds the tools of directors: their descriptions for models, and the changes
// of the scene that they request. Engine/order reads the changes; they have the names and
// fields of orders.
package direct

import (
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/cast"
	"tavernsim/engine/script/turns"
	"tavernsim/protocol"
)

// Tool is a tool that only directors may call.
type Tool struct {
	Spec protocol.ToolSpec
	// Change is what a call asks for: the kind of the change and its fields. What is wrong
	// whatever the scene is like is an error.
	Change func(tool.Params) (kind string, fields map[string]any, err error)
}

// Tools lists them. A call may also say why.
func Tools() []Tool {
	return []Tool{
		{with("RestAgentTool", "Lets agents rest: they hear everything and are not woken. Only directors may.",
			tool.Required("agents", "", "whom, or a list: "+cast.Grammar),
			tool.Optional("wake", "boolean", "ends their rest instead")), rest},
		{with("GiveTurnTool", "Gives agents turns, in a scene with an order of turns. Only directors may.",
			tool.Required("agents", "", "whom, or a list: "+cast.Grammar),
			tool.Optional("turns", "integer", "how many each; 1 when it is missing")), turn},
		{with("SetSceneVariableTool", "Sets a variable of the script of the scene. Only directors may.",
			tool.Required("variable", "string", "its name"),
			tool.Required("value", "", "its new value")), set},
		{with("TransitionSceneTool", "Leads the script of the scene to a state. Only directors may.",
			tool.Required("to", "string", "state id")), transition},
		{with("EndSceneTool", "Ends a scene that has a script. Only directors may.",
			tool.Required("outcome", "string", "what the scene came to"),
			tool.Optional("winners", "array", "who has won")), end},
		{with("MoveAgentTool", "Sends agents somewhere, in a scene in space. Only directors may.",
			Moved()...), move},
		{with("SpawnAgentTool", "Lets agents come into the scene, of those that it declares as spawnable. Only directors may.", Spawned()...), spawn},
		{with("RemoveAgentTool", "Takes agents out of the scene. Only directors may.",
			tool.Required("agents", "", "whom, or a list: "+cast.Grammar)), remove},
		{with("SendAgentTool", "Sends agents to another scene, to which a link of this one leads (links). They arrive after its travel time. Only directors may.",
			Sent()...), send},
	}
}

func with(id, description string, params ...tool.Param) protocol.ToolSpec {
	return tool.Spec(id, description, append(params, tool.Optional("reason", "string", "why"))...)
}

func rest(p tool.Params) (kind string, fields map[string]any, err error) {
	if _, err := Agents(p); err != nil {
		return "", nil, err
	}
	if kind = cast.Rest; p.Flag("wake") {
		kind = cast.Wake
	}
	return kind, map[string]any{"agents": p["agents"]}, nil
}

func turn(p tool.Params) (kind string, fields map[string]any, err error) {
	_, n, err := Turns(p)
	return cast.Turn, map[string]any{"agents": p["agents"], "turns": n}, err
}

func set(p tool.Params) (kind string, fields map[string]any, err error) {
	if p.Text("variable") == "" {
		err = protocol.Errorf(protocol.KindInvalid, "variable: want the name of a variable")
	}
	return "set", map[string]any{p.Text("variable"): p["value"]}, err
}

func transition(p tool.Params) (kind string, fields map[string]any, err error) {
	return "transition", map[string]any{"to": p.Text("to")}, nil
}

// end names the outcome, which the script keeps; why is its reason.
func end(p tool.Params) (kind string, fields map[string]any, err error) {
	if p.Text("outcome") == "" {
		err = protocol.Errorf(protocol.KindInvalid, "outcome: want what the scene came to")
	}
	return "end", map[string]any{"outcome": p.Text("outcome"), "winners": p["winners"], "reason": p.Text("reason")}, err
}

// Moved are the fields of a move.
func Moved() []tool.Param {
	return []tool.Param{
		tool.Required("agents", "", "whom, or a list: "+cast.Grammar),
		tool.Required("to", "string", "a place, a cell \"x,y\", an instance id, a direction, stay; at once also nowhere"),
		tool.Optional("at_once", "boolean", "puts them there; else they walk"),
	}
}

func move(p tool.Params) (kind string, fields map[string]any, err error) {
	_, err = Agents(p)
	return cast.Move, map[string]any{"agents": p["agents"], "to": p["to"], "at_once": p.Flag("at_once")}, err
}

// Turns reads who is given turns, and how many.
func Turns(p tool.Params) (cast.Selectors, int64, error) {
	agents, err := Agents(p)
	n, given := p.Integer("turns")
	if !given {
		n = 1
	}
	if err == nil && (n < 1 || n > turns.MaxTurns) {
		err = protocol.Errorf(protocol.KindInvalid, "turns %d: want 1 to %d", n, turns.MaxTurns)
	}
	return agents, n, err
}

// Spawned are the parameters that say who comes.
func Spawned() []tool.Param {
	return []tool.Param{
		tool.Optional("agent", "string", "instance id of one that is away"),
		tool.Optional("profile", "string", "in place of agent: profile id; those with the lowest numbers that are away come"),
		tool.Optional("count", "integer", "of a profile; 1 when it is missing"),
		tool.Optional("state", "object", "fields in the place of those of the initial private state"),
	}
}

// Coming reads who comes.
func Coming(p tool.Params) (*cast.Coming, error) {
	c := &cast.Coming{Agent: p.Text("agent"), Profile: p.Text("profile"), Count: 1}
	if n, given := p.Integer("count"); given {
		c.Count = n
	}
	c.State, _ = p["state"].(map[string]any)
	return c, c.Check()
}

func spawn(p tool.Params) (kind string, fields map[string]any, err error) {
	_, err = Coming(p)
	return cast.Spawn, p.Without("reason"), err
}

func remove(p tool.Params) (kind string, fields map[string]any, err error) {
	_, err = Agents(p)
	return cast.Remove, map[string]any{"agents": p["agents"]}, err
}

// Sent are the fields of a trip.
func Sent() []tool.Param {
	return []tool.Param{
		tool.Required("agents", "", "whom, or a list: "+cast.Grammar),
		tool.Required("to", "string", "id of the other scene"),
	}
}

func send(p tool.Params) (kind string, fields map[string]any, err error) {
	_, err = Agents(p)
	return cast.Travel, map[string]any{"agents": p["agents"], "to": p["to"]}, err
}

// Agents reads the parameter of that name: a selector, or a list of at least one.
func Agents(p tool.Params) (cast.Selectors, error) {
	texts, err := p.Texts("agents")
	switch {
	case err != nil:
		return nil, err
	case len(texts) == 0:
		return nil, protocol.Errorf(protocol.KindInvalid, "agents: want at least one: %s", cast.Grammar)
	}
	return cast.ParseAll(texts)
}

// Request is what a director asks of the stage by a call.
func Request(t *Tool, id, by string, p tool.Params) (*cast.Request, error) {
	reason := p.Text("reason")
	if len(reason) > cast.MaxReason {
		return nil, protocol.Errorf(protocol.KindInvalid, "reason: %d bytes; want at most %d", len(reason), cast.MaxReason)
	}
	kind, fields, err := t.Change(p)
	if err != nil {
		return nil, err
	}
	return &cast.Request{ID: id, By: by, Reason: reason, Do: protocol.Encode([]any{map[string]any{kind: fields}})}, nil
}
