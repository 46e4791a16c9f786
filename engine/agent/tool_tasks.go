package agent

import (
	"slices"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

func taskTools() []Tool {
	return []Tool{
		folds((*Turn).taskStatus, "TaskStatusTool", "Tells of your tasks: calls of tools that take longer than a turn. Their results come as events of the type tool.finished.",
			tool.Optional("task_id", "string", "One task; without it all that are open, and the last ones that ended.")),
		requests((*Turn).cancelTask, "CancelTaskTool", "Cancels an open task of yours.",
			tool.Required("task_id", "string", "The task.")),
	}
}

// taskID is what a call returns that requested a task.
type taskID string

// openTask requests a task, which is carried out after the turn.
func (t *Turn) openTask(entry *Tool, c *protocol.Call, number int, timeout time.Duration) protocol.CallResult {
	if err := t.toolsOver(c, c.Origin != protocol.OriginWorkflow); err != nil {
		return failed(err)
	}
	params, err := t.bound(c, &entry.schema)
	if err != nil {
		return wrongParams(c, err)
	}
	uris := bind.References(c, &entry.schema, params)
	if params, err = entry.checked(params, len(uris) > 0); err != nil {
		return wrongParams(c, err)
	}
	most := t.m.Def.Limits.MaxTasks
	if open := t.tasks.OpenOf(t.m.ID.Instance) + t.tasksOpened; open >= most {
		return failed(protocol.Errorf(protocol.KindLimit, "%s: %d tasks are open, more are refused (custom_runtime_config.max_tasks)", c.Tool, open))
	}
	t.toolsAsked++
	t.tasksOpened++
	q := tooltask.Request{After: entry.latency, Most: most, Cost: entry.cost, Task: tooltask.Task{
		ID: t.nextRequestID(), Agent: t.m.ID.Instance, Turn: t.end.Turn, Number: int64(t.toolsAsked), Kind: entry.kind, Tool: entry.Name,
		Params: protocol.Encode(params), URIs: tooltask.EncodeURIs(uris, t.approved[number]), Timeout: shorter(timeout, entry.timeout), Retry: int64(c.Retry), Once: entry.once,
	}}
	t.request(tooltask.Service, q.AppendMsg)
	t.promise(c, params, q.Task.ID)
	return protocol.CallResult{Status: protocol.CallRequested, Output: taskID(q.Task.ID)}
}

// shorter is the time-out of a caller, who may only shorten that of the tool; 0 = none.
func shorter(caller, tool time.Duration) time.Duration {
	if caller > 0 && (tool == 0 || caller < tool) {
		return caller
	}
	return tool
}

// taskStatus tells of the agent's tasks as they were when the turn began.
func (t *Turn) taskStatus(p tool.Params) (any, error) {
	id, own := p.Text("task_id"), t.m.ID.Instance
	list := []any{}
	for _, x := range t.tasks.Open {
		if x.Agent == own && (id == "" || x.ID == id) {
			v := map[string]any{"task_id": x.ID, "tool": x.Tool, "status": "running", "opened": x.Opened.String()}
			if x.Due != 0 {
				v["due"] = x.Due.String()
			}
			list = append(list, v)
		}
	}
	past := 0
	for _, x := range slices.Backward(t.tasks.Past) {
		if x.Agent != own || id != "" && x.ID != id || past == maxPastShown {
			continue
		}
		v := map[string]any{"task_id": x.ID, "tool": x.Tool, "status": x.Status, "ended": x.At.String()}
		if x.Error != "" {
			v["error"] = x.Error
		}
		list = append(list, v)
		past++
	}
	switch {
	case id != "" && len(list) == 0:
		return nil, protocol.Errorf(protocol.KindNotFound, "you have no task %s, of those that are open and the last that ended", tool.Cut(id))
	case id != "":
		return list[0], nil
	}
	return list, nil
}

// maxPastShown bounds the ended tasks that an agent is shown.
const maxPastShown = 16

func (t *Turn) cancelTask(p tool.Params) (any, error) {
	id := p.Text("task_id")
	q := tooltask.Request{Cancel: true, Task: tooltask.Task{ID: id, Agent: t.m.ID.Instance}}
	t.request(tooltask.Service, q.AppendMsg)
	return nil, nil
}
