// Package listen holds the tools with which agents change their subscriptions: their descriptions for
// models, and their requests to the event channel. The channel decides about these requests and the events
// of the wave in one order; the agent observes a refusal. Engine/bus has the rules.
package listen

import (
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// Tools that have one parameter more where the scene has groups of subscribers.
const (
	Subscribe   = "SubscribeEventTool"
	Unsubscribe = "UnsubscribeEventTool"
)

// Asker is whose turn it is.
type Asker struct {
	Instance string
	Now      protocol.Time
}

// Request is one to the channel.
type Request interface{ AppendMsg(b []byte) []byte }

// Tool is a tool that asks the channel.
type Tool struct {
	Spec      protocol.ToolSpec
	Call      func(*Asker, tool.Params) (Request, error)
	SceneOnly bool // no profile may have it
}

// Tools lists them.
func Tools() []Tool {
	return []Tool{
		{Call: subscribe, Spec: tool.Spec(Subscribe, "Hears events of a type from now on.",
			tool.Required("type", "string", "event type; a.b.* is every type below a.b, * every type"),
			tool.Optional("filter_condition", "string", "expression over payload, event and self; only events for which it is true"),
			tool.Optional("path", "string", "with type world.state.updated: only changes at, above or below this path; * stands for any one name, ** for any number"),
			tool.Optional("debounce_seconds", "number", "waits until no event came for so long"),
			tool.OneOf("debounce", "what is heard then; latest when it is missing", string(bus.DebounceLatest), string(bus.DebounceMerge)),
			tool.Optional("debounce_max_seconds", "number", "waits no longer than this; ten times debounce_seconds when it is missing"))},
		{Call: unsubscribe, Spec: tool.Spec(Unsubscribe, "Hears events of a type no more.",
			tool.Required("type", "string", "event type, as it was subscribed to"),
			tool.Optional("filter_condition", "string", "only the subscription with this filter; all of the type when it is missing"),
			tool.Optional("path", "string", "only the subscription to this path"))},
		{Call: force, SceneOnly: true, Spec: tool.Spec("ThrottleEventTool", "Bounds how many events of a type are heard, from now on. Only the scene itself has this tool.",
			tool.Required("type", "string", "event type; a.b.* is every type below a.b, * every type"),
			tool.Optional("source_agent_instance_id", "string", "only events of this publisher"),
			tool.OneOf("per", "what is counted by itself; type when it is missing", string(throttle.PerType), string(throttle.PerSource), string(throttle.PerScene)),
			tool.Optional("max", "integer", "events in a window; 0 when it is missing: none"),
			tool.Optional("window_seconds", "number", "length of a window; 1 when it is missing"),
			tool.OneOf("action", "what becomes of the others; drop when it is missing", string(throttle.Drop), string(throttle.Deprioritize), string(throttle.Delay)),
			tool.Optional("for_seconds", "number", "the rule ends by itself after this time"),
			tool.Optional("remove", "boolean", "takes the rule of this type, publisher and per back"))},
	}
}

// Grouped are the parameters that a tool has in a scene with groups.
func Grouped(id string) []tool.Param {
	switch id {
	case Subscribe:
		return []tool.Param{tool.Optional("group", "string", "of its subscribers that would hear an event one does, for which the least waits; not with debounce_seconds")}
	case Unsubscribe:
		return []tool.Param{tool.Optional("group", "string", "only the subscription of this group")}
	}
	return nil
}

func subscribe(a *Asker, p tool.Params) (Request, error) {
	sub := profile.Subscription{
		Type: p.Text("type"), FilterCondition: p.Text("filter_condition"), Path: p.Text("path"), Debounce: p.Text("debounce"), Group: p.Text("group"),
		DebounceSeconds: p.Number("debounce_seconds", 0), DebounceMaxSeconds: p.Number("debounce_max_seconds", 0),
	}
	if err := tool.Span("debounce_seconds", max(sub.DebounceSeconds, sub.DebounceMaxSeconds), bus.MaxQuiet); err != nil {
		return nil, err
	}
	add := sub.ForChannel()
	if err := add.Check(); err != nil {
		return nil, err
	}
	if add.Type == bus.TypeWorldWatched {
		return nil, protocol.Errorf(protocol.KindInvalid, "type %s: only goals subscribe to it; want %s", add.Type, bus.TypeWorldUpdated)
	}
	return &bus.Change{Agent: a.Instance, Add: []bus.Subscription{add}}, nil
}

func unsubscribe(a *Asker, p tool.Params) (Request, error) {
	sub := bus.Subscription{Type: p.Text("type"), FilterCondition: p.Text("filter_condition"), Path: p.Text("path"), Group: p.Text("group")}
	if err := sub.Check(); err != nil {
		return nil, err
	}
	return &bus.Change{Agent: a.Instance, Remove: []bus.Subscription{sub}}, nil
}

// force asks for a rule of throttling. The channel refuses requests that are not
// the scene's.
func force(a *Asker, p tool.Params) (Request, error) {
	f := &bus.Force{By: a.Instance, Remove: p.Flag("remove"), Rule: throttle.Rule{
		Type: p.Text("type"), Source: p.Text("source_agent_instance_id"), Per: throttle.Per(p.Text("per")), Action: throttle.Action(p.Text("action")),
	}}
	f.Rule.Max, _ = p.Integer("max")
	window, last := p.Number("window_seconds", 1), p.Number("for_seconds", 0)
	if err := tool.Span("window_seconds", window, throttle.MaxWindow); err != nil {
		return nil, err
	}
	if err := tool.Span("for_seconds", last, protocol.MaxTTL); err != nil {
		return nil, err
	}
	f.Rule.Window = protocol.Seconds(window)
	if last > 0 {
		f.Rule.Until = a.Now.Add(protocol.Seconds(last))
	}
	if field, fault := bus.CheckRule(f.Rule); fault != "" && !f.Remove {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s: %s", field, fault)
	}
	return f, nil
}
