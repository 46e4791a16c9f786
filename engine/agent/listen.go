package agent

import (
	"time"

	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// The tools that change what the event channel does. What they ask for is
// decided in the scene's order with the events of the moment; a refusal is an
// observation.

func (t *Turn) subscribe(p *tool.Params) func() (any, error) {
	sub := profile.Subscription{
		Type: p.Required("type"), FilterCondition: p.Text("filter_condition"), Path: p.Text("path"), Debounce: p.Text("debounce"),
		DebounceSeconds: p.Number("debounce_seconds", 0), DebounceMaxSeconds: p.Number("debounce_max_seconds", 0),
	}
	return func() (any, error) {
		if err := span("debounce_seconds", max(sub.DebounceSeconds, sub.DebounceMaxSeconds), bus.MaxQuiet); err != nil {
			return nil, err
		}
		add := sub.ForChannel()
		if err := add.Check(); err != nil {
			return nil, err
		}
		t.request(protocol.ToEvents, (&bus.Change{Agent: t.m.ID.Instance, Add: []bus.Subscription{add}}).AppendMsg)
		return nil, nil
	}
}

func (t *Turn) unsubscribe(p *tool.Params) func() (any, error) {
	sub := bus.Subscription{Type: p.Required("type"), FilterCondition: p.Text("filter_condition"), Path: p.Text("path")}
	return func() (any, error) {
		if err := sub.Check(); err != nil {
			return nil, err
		}
		t.request(protocol.ToEvents, (&bus.Change{Agent: t.m.ID.Instance, Remove: []bus.Subscription{sub}}).AppendMsg)
		return nil, nil
	}
}

// throttle is the scene's alone: the channel asks who sent the request.
func (t *Turn) throttle(p *tool.Params) func() (any, error) {
	f := bus.Force{By: t.m.ID.Instance, Remove: p.Flag("remove"), Rule: throttle.Rule{
		Type: p.Required("type"), Source: p.Text("source_agent_instance_id"), Per: throttle.Per(p.Text("per")), Action: throttle.Action(p.Text("action")),
	}}
	f.Rule.Max, _ = p.Integer("max")
	window, last := p.Number("window_seconds", 1), p.Number("for_seconds", 0)
	return func() (any, error) {
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
		t.request(protocol.ToEvents, f.AppendMsg)
		return nil, nil
	}
}

// span holds seconds to what a duration can be.
func span(name string, seconds float64, most time.Duration) error {
	if seconds < 0 || seconds > most.Seconds() || seconds != seconds {
		return protocol.Errorf(protocol.KindInvalid, "%s %v: want 0 to %v", name, seconds, most.Seconds())
	}
	return nil
}
