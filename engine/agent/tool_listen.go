package agent

import (
	"time"

	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// listenTools change the event channel. The channel decides about their requests
// and the events of the wave in one order; the agent observes a refusal.
func listenTools() []Tool {
	return []Tool{
		requests((*Turn).subscribe, "SubscribeEventTool", "Hears events of a type from now on.",
			tool.Required("type", "string", "event type; a.b.* is every type below a.b, * every type"),
			tool.Optional("filter_condition", "string", "expression over payload, event and self; only events for which it is true"),
			tool.Optional("path", "string", "with type world.state.updated: only changes at, above or below this path; * stands for any one name, ** for any number"),
			tool.Optional("debounce_seconds", "number", "waits until no event came for so long"),
			tool.OneOf("debounce", "what is heard then; latest when it is missing", string(bus.DebounceLatest), string(bus.DebounceMerge)),
			tool.Optional("debounce_max_seconds", "number", "waits no longer than this; ten times debounce_seconds when it is missing"),
			tool.Optional("group", "string", "name of a group: of its subscribers that would hear an event one does, for which the least waits; goes with no debounce")),
		requests((*Turn).unsubscribe, "UnsubscribeEventTool", "Hears events of a type no more.",
			tool.Required("type", "string", "event type, as it was subscribed to"),
			tool.Optional("filter_condition", "string", "only the subscription with this filter; all of the type when it is missing"),
			tool.Optional("path", "string", "only the subscription to this path"),
			tool.Optional("group", "string", "only the subscription of this group")),
		requests((*Turn).throttle, "ThrottleEventTool", "Bounds how many events of a type are heard, from now on. Only the scene itself has this tool.",
			tool.Required("type", "string", "event type; a.b.* is every type below a.b, * every type"),
			tool.Optional("source_agent_instance_id", "string", "only events of this publisher"),
			tool.OneOf("per", "what is counted by itself; type when it is missing", string(throttle.PerType), string(throttle.PerSource), string(throttle.PerScene)),
			tool.Optional("max", "integer", "events in a window; 0 when it is missing: none"),
			tool.Optional("window_seconds", "number", "length of a window; 1 when it is missing"),
			tool.OneOf("action", "what becomes of the others; drop when it is missing", string(throttle.Drop), string(throttle.Deprioritize), string(throttle.Delay)),
			tool.Optional("for_seconds", "number", "the rule ends by itself after this time"),
			tool.Optional("remove", "boolean", "takes the rule of this type, publisher and per back")).forTheScene(),
	}
}

func (t *Turn) subscribe(p tool.Params) (any, error) {
	sub := profile.Subscription{
		Type: p.Text("type"), FilterCondition: p.Text("filter_condition"), Path: p.Text("path"), Debounce: p.Text("debounce"), Group: p.Text("group"),
		DebounceSeconds: p.Number("debounce_seconds", 0), DebounceMaxSeconds: p.Number("debounce_max_seconds", 0),
	}
	if err := span("debounce_seconds", max(sub.DebounceSeconds, sub.DebounceMaxSeconds), bus.MaxQuiet); err != nil {
		return nil, err
	}
	add := sub.ForChannel()
	if err := add.Check(); err != nil {
		return nil, err
	}
	if add.Type == bus.TypeWorldWatched {
		return nil, protocol.Errorf(protocol.KindInvalid, "type %s: only goals subscribe to it; want %s", add.Type, bus.TypeWorldUpdated)
	}
	t.request(bus.Service, (&bus.Change{Agent: t.m.ID.Instance, Add: []bus.Subscription{add}}).AppendMsg)
	return nil, nil
}

func (t *Turn) unsubscribe(p tool.Params) (any, error) {
	sub := bus.Subscription{Type: p.Text("type"), FilterCondition: p.Text("filter_condition"), Path: p.Text("path"), Group: p.Text("group")}
	if err := sub.Check(); err != nil {
		return nil, err
	}
	t.request(bus.Service, (&bus.Change{Agent: t.m.ID.Instance, Remove: []bus.Subscription{sub}}).AppendMsg)
	return nil, nil
}

// throttle asks for a rule of throttling. The channel refuses requests that are not
// the scene's.
func (t *Turn) throttle(p tool.Params) (any, error) {
	f := bus.Force{By: t.m.ID.Instance, Remove: p.Flag("remove"), Rule: throttle.Rule{
		Type: p.Text("type"), Source: p.Text("source_agent_instance_id"), Per: throttle.Per(p.Text("per")), Action: throttle.Action(p.Text("action")),
	}}
	f.Rule.Max, _ = p.Integer("max")
	window, last := p.Number("window_seconds", 1), p.Number("for_seconds", 0)
	if err := span("window_seconds", window, throttle.MaxWindow); err != nil {
		return nil, err
	}
	if err := span("for_seconds", last, protocol.MaxTTL); err != nil {
		return nil, err
	}
	f.Rule.Window = time.Duration(window * float64(time.Second))
	if last > 0 {
		f.Rule.Until = t.wake.Now.Add(time.Duration(last * float64(time.Second)))
	}
	if field, fault := bus.CheckRule(f.Rule); fault != "" && !f.Remove {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s: %s", field, fault)
	}
	t.request(bus.Service, f.AppendMsg)
	return nil, nil
}

// span refuses a number of seconds that is negative or above most.
func span(name string, seconds float64, most time.Duration) error {
	if seconds < 0 || seconds > most.Seconds() || seconds != seconds {
		return protocol.Errorf(protocol.KindInvalid, "%s %v: want 0 to %v", name, seconds, most.Seconds())
	}
	return nil
}
