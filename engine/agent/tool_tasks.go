package agent

import (
	"time"

	"tavernsim/engine/agent/assign"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// taskTools are the tools about tasks.
func taskTools() (list []Tool) {
	for _, d := range assign.Tools() {
		list = append(list, Tool{ToolSpec: d.Spec, status: d.Status, run: func(t *Turn, p tool.Params) (any, error) {
			q, out, err := d.Call(t.assigns(), p)
			if q != nil && err == nil {
				t.out.Request(tooltask.Service, q.AppendMsg)
			}
			return out, err
		}})
	}
	return list
}

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
	q := tooltask.Request{After: entry.Latency, Most: most, Cost: entry.Cost, Task: tooltask.Task{
		ID: t.out.NextID(), Agent: t.m.ID.Instance, Turn: t.end.Turn, Number: int64(t.toolsAsked), Kind: entry.Kind, Tool: entry.Name,
		Params: protocol.Encode(params), URIs: tooltask.EncodeURIs(uris, t.approved[number]), Timeout: shorter(timeout, entry.Timeout), Retry: int64(c.Retry), Once: entry.Once,
	}}
	t.out.Request(tooltask.Service, q.AppendMsg)
	t.steps.Promise(c, params, q.Task.ID)
	return protocol.CallResult{Status: protocol.CallRequested, Output: tool.TaskID(q.Task.ID)}
}

// shorter is the time-out of a caller, which may only shorten that of the tool; 0 = none.
func shorter(caller, tool time.Duration) time.Duration {
	if caller > 0 && (tool == 0 || caller < tool) {
		return caller
	}
	return tool
}

// assigns is what the turn can do with tasks, as they were when it began.
func (t *Turn) assigns() *assign.Asker {
	return &assign.Asker{Instance: t.m.ID.Instance, Turn: t.end.Turn, Tasks: &t.tasks, Heard: t.m.State.askedIn(t.events), Opened: t.tasksOpened, Most: t.m.Def.Limits.MaxTasks}
}
