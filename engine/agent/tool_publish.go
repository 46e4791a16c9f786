package agent

import (
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

func publishTools() []Tool {
	return []Tool{requests((*Turn).publish, publish.Tool, "Publishes an event.", publish.Params()...).toldByItsFact()}
}

func (t *Turn) publish(p tool.Params) (any, error) {
	targets, err := p.Receivers("target_agent_instance_id")
	if err == nil && p.Text("type") == bus.TypeWorldWatched {
		err = protocol.Errorf(protocol.KindDenied, "an event %s: the channel alone tells of watched places", bus.TypeWorldWatched)
	}
	if err != nil {
		return nil, err
	}
	draft := protocol.Draft{EventHeader: protocol.EventHeader{
		Type: p.Text("type"), Targets: targets, Ephemeral: p.Flag("ephemeral"), RequiresAck: p.Flag("requires_ack"),
		TaskID: p.Text("task_id"), ExpectsReply: p.Flag("expects_reply"),
	}, Reach: p.Text("reach")}
	payload, err := protocol.Normalize(p["payload"])
	if err == nil {
		err = t.m.Def.told.Check(t.m.ID.Instance, t.m.Def.may, &draft.EventHeader, payload)
	}
	if err != nil {
		return nil, err
	}
	if draft.Priority, err = protocol.ParsePriority(p.Text("priority")); err != nil {
		return nil, err
	}
	ttl := p.Number("ttl_seconds", 0)
	if err := tool.Span("ttl_seconds", ttl, protocol.MaxTTL); err != nil {
		return nil, err
	}
	if draft.Ephemeral && draft.RequiresAck {
		return nil, protocol.Errorf(protocol.KindInvalid, "ephemeral and requires_ack: an ephemeral event is heard once or not at all; want one of them")
	}
	draft.TTL = protocol.Seconds(ttl)
	draft.Body = t.out.Encode(payload)
	_, deadline := p["deadline_seconds"]
	opens := deadline || draft.ExpectsReply
	if !opens {
		err = t.answers(&draft) // it names the asker
	}
	if err == nil {
		err = t.m.Def.Publishes.Check(draft.Type, draft.Targets)
	}
	switch {
	case err != nil:
	case deadline:
		err = t.assign(&draft, p.Number("deadline_seconds", 0))
	case opens:
		err = t.ask(&draft)
	}
	if err != nil {
		return nil, err
	}
	t.out.Publish(draft)
	if !opens {
		return nil, nil
	}
	return map[string]any{"task_id": draft.TaskID}, nil
}

// assign requests a task that an agent that hears the event carries out.
func (t *Turn) assign(d *protocol.Draft, seconds float64) error {
	q, err := t.assigns().Ask(d, t.out.NextID(), seconds)
	if err != nil {
		return err
	}
	t.tasksOpened++
	t.out.Request(tooltask.Service, q.AppendMsg)
	return nil
}
