package agent

import (
	"cmp"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/panel"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

func panelTools() []Tool {
	return []Tool{
		requests((*Turn).askPanel, tooltask.PanelTool, "Asks the user through an application panel. The answer comes as the event panel.interaction_result.",
			tool.Optional("panel", "string", "instance name of the panel"),
			tool.Required("action", "string", "what the panel shows: text, choice, confirm, form, show, or an action of the panel"),
			tool.Optional("payload", "", "data for the panel"),
			tool.Optional("schema", "object", "JSON Schema of the answer, if the action has none"),
			tool.Optional("to", "string", "who is asked"),
			tool.Optional("timeout_seconds", "number", "how long an answer is waited for; 300 when it is missing"),
			tool.OneOf("wait", "hold = time stands until the answer, run = it goes on", tooltask.WaitHold, tooltask.WaitRun)),
	}
}

// Bounds of a time-out, in seconds.
const (
	panelTimeout    = 300
	maxPanelTimeout = 30 * 24 * 3600
)

// askPanel requests a task that a person carries out.
func (t *Turn) askPanel(p tool.Params) (any, error) {
	if t.m.Def.Panel == nil {
		return nil, protocol.Errorf(protocol.KindUnknown, "no application panel is connected to this run")
	}
	seconds := p.Number("timeout_seconds", panelTimeout)
	if !(seconds > 0 && seconds <= maxPanelTimeout) {
		return nil, protocol.Errorf(protocol.KindInvalid, "timeout_seconds %v: want more than 0, at most %d", seconds, maxPanelTimeout)
	}
	q := panel.Question{Panel: p.Text("panel"), Action: p.Text("action"), Payload: p["payload"], Schema: p["schema"]}
	if err := t.m.Def.Panel(&q); err != nil {
		return nil, err
	}
	if open := t.tasks.AskedBy(t.m.ID.Instance) + t.peopleAsked; open >= tooltask.MaxAsked {
		return nil, protocol.Errorf(protocol.KindLimit, "%d questions of yours are open; no more are", open)
	}
	t.peopleAsked++
	asked := tooltask.Question{Panel: q.Panel, Action: q.Action, To: p.Text("to"), Wait: cmp.Or(p.Text("wait"), tooltask.WaitHold), Payload: q.Payload, Schema: q.Schema}
	if h := q.Headless; h != nil {
		asked.Headless, asked.Default = true, h.Value
	}
	r := tooltask.Request{Task: tooltask.Task{
		ID: t.nextRequestID(), Agent: t.m.ID.Instance, Turn: t.end.Turn, Kind: tooltask.KindPerson, Tool: tooltask.PanelTool,
		Params: asked.Encode(), URIs: tooltask.EncodeURIs(nil, nil), Timeout: time.Duration(seconds * float64(time.Second)),
	}}
	t.request(tooltask.Service, r.AppendMsg)
	return map[string]any{"interaction_id": r.Task.ID}, nil
}
