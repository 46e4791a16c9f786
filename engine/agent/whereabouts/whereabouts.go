// Package whereabouts holds the tools of agents in space: their descriptions for models, their
// requests to the service of space, and an agent's perception of its surroundings. Engine/space has
// the map and the rules.
package whereabouts

import (
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/space"
	"tavernsim/protocol"
)

// Tools for agents in space.
const (
	Move = "MoveTool"
	Look = "LookTool"
)

// Asker is whose turn it is.
type Asker struct {
	Instance string
	Ordinal  uint32
	View     interface{ Shown(part string) any } // that it deliberates against
	Request  string                              // id of its next request
}

// Tool is a tool of agents in space.
type Tool struct {
	Spec protocol.ToolSpec
	// Call gives the request that a call comes to, or what the call returns.
	Call func(*Asker, tool.Params) (*space.Request, any, error)
}

// Tools lists them.
func Tools() []Tool {
	return []Tool{
		{tool.Spec(Move, "Walks there, at most speed cells a tick, and tells you how it ended. Another call leads elsewhere.",
			tool.Required("to", "string", space.Grammar)), move},
		{tool.Spec(Look, "What is around you: your cell and place, who is near, where you can step, the nearest places."), look},
	}
}

// Reach is the parameter of PublishEventTool in a scene in space.
func Reach() tool.Param {
	return tool.OneOf("reach", "who can hear it; as the scene says of the type when it is missing", space.Reaches()...)
}

func shown(view interface{ Shown(part string) any }) *space.View {
	if view == nil {
		return nil
	}
	v, _ := view.Shown(space.Service).(*space.View)
	return v
}

func none() error { return protocol.Errorf(protocol.KindInvalid, "the scene has no space") }

func move(a *Asker, p tool.Params) (*space.Request, any, error) {
	to := p.Text("to")
	if shown(a.View) == nil {
		return nil, nil, none()
	}
	if err := space.CheckTo(to); err != nil {
		return nil, nil, err
	}
	return &space.Request{ID: a.Request, By: a.Instance, Agent: a.Instance, To: to}, nil, nil
}

func look(a *Asker, _ tool.Params) (*space.Request, any, error) {
	v := shown(a.View)
	if v == nil {
		return nil, nil, none()
	}
	s := v.Look(a.Ordinal)
	if s == nil {
		return nil, nil, protocol.Errorf(protocol.KindInvalid, "you are nowhere on the map")
	}
	return nil, s, nil
}

// Surroundings is the core input of that name; nil = the agent is nowhere.
func Surroundings(view interface{ Shown(part string) any }, o uint32) any {
	if v := shown(view); v != nil {
		if s := v.Surroundings(o); s != nil {
			return s
		}
	}
	return nil
}

// Place is the name of the place in which an agent is; "" = in none.
func Place(view interface{ Shown(part string) any }, o uint32) string {
	v := shown(view)
	if v == nil {
		return ""
	}
	x, y, ok := v.Where(o)
	if !ok {
		return ""
	}
	return v.Map().NameAt(x, y)
}
