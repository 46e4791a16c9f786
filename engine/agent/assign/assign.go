// Package assign holds the tools for tasks between agents: an agent asks others with a deadline,
// reports on tasks that it was given, and looks up both (seed 004 §5.3). Engine/tooltask decides about
// tasks.
package assign

import (
	"iter"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/agent/whereabouts"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// Bounds.
const (
	MaxDeadline = 365 * 24 * time.Hour
	maxNote     = 4 << 10  // bytes
	maxResult   = 64 << 10 // encoded bytes
	maxPast     = 16       // ended tasks that an agent is shown
)

// Tool is a tool about tasks.
type Tool struct {
	Spec   protocol.ToolSpec
	Status protocol.CallStatus // of a call that worked
	// Call gives the request that a call comes to, or what the call returns.
	Call func(*Asker, tool.Params) (*tooltask.Request, any, error)
}

// Tools lists them.
func Tools() []Tool {
	task := func(what string) tool.Param { return tool.Required("task_id", "string", what) }
	return []Tool{
		{tool.Spec("TaskStatusTool", "Tells of your tasks: calls of tools that take longer than a turn. Their results come as events of the type tool.finished.",
			tool.Optional("task_id", "string", "One task; without it all that are open, and the last ones that ended.")), protocol.CallOK, (*Asker).status},
		{tool.Spec("CancelTaskTool", "Cancels an open task of yours.", task("The task.")), protocol.CallRequested, (*Asker).cancel},
		{tool.Spec(tooltask.ReportTool, "Says how far you are with a task that an event with a deadline asked for. Your first report takes the task; done, failed and refused end it.",
			task("The task: metadata.task_id of the event."),
			tool.OneOf("status", "done when it is missing", statuses()...),
			tool.Optional("progress", "number", "how much is done, 0 to 1"),
			tool.Optional("note", "string", "what there is to say about it"),
			tool.Optional("result", "", "what came of it; with status done")), protocol.CallRequested, (*Asker).report},
	}
}

// Speaking are the parameters that PublishEventTool has in a scene with space, and in a project
// with tasks between agents.
func Speaking(inSpace, assigns bool) (list []tool.Param) {
	if inSpace {
		list = append(list, whereabouts.Reach())
	}
	if assigns {
		list = append(list, tool.Optional("deadline_seconds", "number", "whoever hears it has to report the end of a task (ReportTaskTool) within this time; you hear of it as the event task.finished"))
	}
	return list
}

// Asker is whose turn it is.
type Asker struct {
	Instance string
	Turn     uint64
	Tasks    *tooltask.State  // as the turn sees them
	Heard    iter.Seq[string] // the tasks that events asked for which the agent perceived
	Opened   int              // by this turn so far
	Most     int              // open tasks of the agent
}

// Ask gives the request for a task with a deadline, which an event asks for; id = of the new one.
// A task_id of the event is the name that the agent gives it.
func (a *Asker) Ask(d *protocol.Draft, id string, seconds float64) (*tooltask.Request, error) {
	if !(seconds > 0 && seconds <= MaxDeadline.Seconds()) {
		return nil, protocol.Errorf(protocol.KindInvalid, "deadline_seconds %v: want more than 0, at most %d", seconds, int64(MaxDeadline/time.Second))
	}
	if open := a.Tasks.OpenOf(a.Instance) + a.Opened; open >= a.Most {
		return nil, protocol.Errorf(protocol.KindLimit, "%d tasks are open, more are refused (custom_runtime_config.max_tasks)", open)
	}
	assigned := tooltask.Assignment{Name: d.TaskID, Type: d.Type, To: d.Targets}
	if a.named(d.TaskID) != d.TaskID {
		return nil, protocol.Errorf(protocol.KindConflict, "task_id %s: a task of this name is open; cancel it first, or take another name", tool.Cut(d.TaskID))
	}
	d.TaskID, d.ExpectsReply = id, true // a late report is never taken for one on a later task of the same name
	return &tooltask.Request{Most: a.Most, Task: tooltask.Task{
		ID: id, Agent: a.Instance, Turn: a.Turn, Kind: tooltask.KindAgent, Tool: tooltask.AskTool,
		Params: assigned.Encode(), URIs: tooltask.EncodeURIs(nil, nil), Timeout: protocol.Seconds(seconds),
	}}, nil
}

// named is the id of the agent's open task with this name; without one, what is given.
func (a *Asker) named(id string) string {
	if id == "" {
		return id
	}
	for x := range a.Tasks.Asked(a.Instance) {
		if x.Kind == tooltask.KindAgent && x.Assignment().Name == id {
			return x.ID
		}
	}
	return id
}

func (a *Asker) cancel(p tool.Params) (*tooltask.Request, any, error) {
	return &tooltask.Request{Cancel: true, Task: tooltask.Task{ID: a.named(p.Text("task_id")), Agent: a.Instance}}, nil, nil
}

func statuses() []string {
	return []string{tooltask.ReportAccepted, tooltask.ReportProgress, tooltask.ReportDone, tooltask.ReportFailed, tooltask.ReportRefused}
}

// report checks a report as far as the turn can.
func (a *Asker) report(p tool.Params) (*tooltask.Request, any, error) {
	id := p.Text("task_id")
	r := &tooltask.Report{Status: p.Text("status"), Progress: p.Number("progress", -1), Note: p.Text("note"), Result: protocol.Encode(p["result"])}
	if r.Status == "" {
		r.Status = tooltask.ReportDone
	}
	t, w := a.Tasks.Task(id), a.Tasks.WorkOn(id)
	switch _, said := p["progress"]; {
	case !slices.Contains(statuses(), r.Status):
		return nil, nil, protocol.Errorf(protocol.KindInvalid, "status %s: want one of %s", tool.Cut(r.Status), strings.Join(statuses(), ", "))
	case said && !(r.Progress >= 0 && r.Progress <= 1):
		return nil, nil, protocol.Errorf(protocol.KindInvalid, "progress %v: want 0 to 1", r.Progress)
	case len(r.Note) > maxNote:
		return nil, nil, protocol.Errorf(protocol.KindInvalid, "note has %d bytes; at most %d", len(r.Note), maxNote)
	case len(r.Result) > maxResult:
		return nil, nil, protocol.Errorf(protocol.KindInvalid, "result has %d bytes; at most %d: publish it, or write it to the world", len(r.Result), maxResult)
	case p["result"] != nil && r.Status != tooltask.ReportDone:
		return nil, nil, protocol.Errorf(protocol.KindInvalid, "result goes with status done; with %s say it in note", r.Status)
	case t != nil && t.Agent == a.Instance && !slices.Contains(t.Assignment().To, a.Instance):
		return nil, nil, protocol.Errorf(protocol.KindInvalid, "task_id %s: you asked for it yourself; CancelTaskTool ends it", tool.Cut(id))
	case !a.heard(id) && (w == nil || w.By != a.Instance):
		return nil, nil, protocol.Errorf(protocol.KindNotFound, "task_id %s: no event that you perceived asked for it", tool.Cut(id))
	}
	return &tooltask.Request{Task: tooltask.Task{ID: id, Agent: a.Instance}, Report: r}, nil, nil
}

// status gives one task, or all that are open and the last that ended.
func (a *Asker) status(p tool.Params) (*tooltask.Request, any, error) {
	id := a.named(p.Text("task_id"))
	list := []any{}
	for _, x := range a.Tasks.About(a.Instance, a.Heard) {
		if id == "" || x.ID == id {
			list = append(list, a.value(x))
		}
	}
	past := 0
	for _, x := range slices.Backward(a.Tasks.Past) {
		if x.Agent != a.Instance || id != "" && x.ID != id || past == maxPast {
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
		return nil, nil, protocol.Errorf(protocol.KindNotFound, "you have no task %s, of those that are open and the last that ended", tool.Cut(id))
	case id != "":
		return nil, list[0], nil
	}
	return nil, list, nil
}

// Input is the core input tasks: those that the agent asked for, and those that it has taken or
// may take.
func (a *Asker) Input() map[string]any {
	asked, todo := []any{}, []any{}
	for x := range a.Tasks.Asked(a.Instance) {
		asked = append(asked, a.value(x))
	}
	for _, x := range a.Tasks.Owed(a.Instance, a.Heard) {
		todo = append(todo, a.value(x))
	}
	return map[string]any{"asked": asked, "todo": todo}
}

// heard reports whether an event that the agent perceived asked for a task.
func (a *Asker) heard(id string) bool {
	for task := range a.Heard {
		if task == id {
			return true
		}
	}
	return false
}

// value is an open task.
func (a *Asker) value(x *tooltask.Task) map[string]any {
	v := map[string]any{"task_id": x.ID, "tool": x.Tool, "status": "running", "opened": x.Opened.String()}
	if x.Due != 0 {
		v["due"] = x.Due.String()
	}
	if x.Kind != tooltask.KindAgent {
		return v
	}
	to := x.Assignment()
	v["status"], v["type"], v["asker"] = "asked", to.Type, x.Agent
	if to.Name != "" {
		v["name"] = to.Name
	}
	if w := a.Tasks.WorkOn(x.ID); w != nil {
		v["status"], v["by"], v["progress"] = w.Status, w.By, w.Progress
		if w.Note != "" {
			v["note"] = w.Note
		}
	}
	return v
}
