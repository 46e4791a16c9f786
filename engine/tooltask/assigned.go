package tooltask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// A task between agents is one that an agent carries out: an agent that hears of it reports on
// it. It ends by a report of the agent that took it, by its asker, or when its time is over.

// KindAgent is the kind of the executor that is an agent.
const KindAgent = "agent"

// The tools by which agents ask, and say how far they are. A project in which no profile has
// ReportTool has no tasks between agents.
const (
	AskTool    = "PublishEventTool"
	ReportTool = "ReportTaskTool"
)

// What an agent reports. The first report says whose the task is; the last three end it.
const (
	ReportAccepted = "accepted"
	ReportProgress = "progress"
	ReportDone     = "done"
	ReportFailed   = "failed"
	ReportRefused  = "refused"
)

// Report is what an agent says of a task.
type Report struct {
	Status   string
	Progress float64 // 0 to 1; below 0 = it does not say
	Note     string
	Result   protocol.Raw
}

// ends reports whether the report is the last one.
func (r *Report) ends() bool {
	return r.Status == ReportDone || r.Status == ReportFailed || r.Status == ReportRefused
}

// Reported records whose a task is, and how far.
type Reported struct {
	ID       string
	Agent    string // the asker
	By       string
	Status   string  // accepted, progress
	Progress float64 // 0 to 1
	Note     string
	At       protocol.Time
}

// FactReported is the kind of Reported.
const FactReported = "tool.task_reported"

// FactKind implements protocol.Fact.
func (*Reported) FactKind() string { return FactReported }
func (*Reported) fact()            {}

// Work is how far an open task is that an agent has taken.
type Work struct {
	ID, By, Status string
	Progress       float64 // 0 to 1
	Note           string
	At             protocol.Time
}

// Assignment is what the parameters of a task between agents say.
type Assignment struct {
	Name string   // that its asker gives it; "" = none
	Type string   // of the event that asks
	To   []string // who may take it; none = who heard of it
}

// Encode gives the parameters of a task.
func (a *Assignment) Encode() protocol.Raw {
	return protocol.Encode(a.named(map[string]any{"type": a.Type, "to": protocol.ListOf(a.To)}))
}

// named adds the name to a value.
func (a *Assignment) named(v map[string]any) map[string]any {
	if a.Name != "" {
		v["name"] = a.Name
	}
	return v
}

// Assignment reads the parameters of a task between agents.
func (t *Task) Assignment() (a Assignment) {
	v, _ := t.Params.Value()
	m, _ := v.(map[string]any)
	a.Name, _ = m["name"].(string)
	a.Type, _ = m["type"].(string)
	list, _ := m["to"].([]any)
	for _, x := range list {
		id, _ := x.(string)
		a.To = append(a.To, id)
	}
	return a
}

// outside reports whether an executor carries the task out.
func (t *Task) outside() bool { return t.Kind != KindPerson && t.Kind != KindAgent }

// Reserved refuses an answer by a plain event to a task that wants a report.
func (s *State) Reserved(d *protocol.Draft) error {
	if t := s.Task(d.TaskID); t == nil || t.Kind != KindAgent {
		return nil
	}
	return protocol.Errorf(protocol.KindInvalid, "task_id %s has a deadline: report on it with %s", tool.Cut(d.TaskID), ReportTool)
}

// taker is who took a task; "" = nobody.
func (s *State) taker(id string) string {
	if w := s.WorkOn(id); w != nil {
		return w.By
	}
	return ""
}

// report decides about what an agent says of a task.
func (s *State) report(q *Request, now protocol.Time) Fact {
	id, by, r := q.Task.ID, q.Task.Agent, q.Report
	no := func(format string, args ...any) Fact {
		return &Refused{ID: id, Agent: by, Message: fmt.Sprintf(format, args...) + "; your report changes nothing"}
	}
	t, w := s.Task(id), s.WorkOn(id)
	switch {
	case t == nil || t.Kind != KindAgent:
		return no("%s", s.closed(id))
	case w != nil && w.By != by:
		return no("%s has taken the task", w.By)
	case !t.mayTake(by):
		return no("the task is for %s", strings.Join(t.Assignment().To, ", "))
	case r.ends():
		return t.reported(q, now)
	}
	f := &Reported{ID: id, Agent: t.Agent, By: by, Status: r.Status, Progress: r.Progress, Note: r.Note, At: now}
	if r.Progress < 0 {
		f.Progress = 0
		if w != nil {
			f.Progress = w.Progress
		}
	}
	return f
}

// mayTake reports whether an agent is among those that were asked.
func (t *Task) mayTake(by string) bool {
	to := t.Assignment().To
	return len(to) == 0 && by != t.Agent || slices.Contains(to, by)
}

// closed says why no task with this id is open.
func (s *State) closed(id string) string {
	for _, p := range slices.Backward(s.Past) {
		if p.ID == id {
			return "the task has ended already (" + p.Status + ")"
		}
	}
	return "there is no open task with this id"
}

func (t *Task) reported(q *Request, now protocol.Time) *Ended {
	r, a := q.Report, t.Assignment()
	v := a.named(map[string]any{"type": a.Type, "by": q.Task.Agent})
	if r.Note != "" {
		v["note"] = r.Note
	}
	if x, err := r.Result.Value(); err == nil && x != nil {
		v["result"] = x
	}
	f := &Ended{ID: t.ID, Agent: t.Agent, Tool: t.Tool, Status: r.Status, Output: protocol.Encode(v), At: now}
	if r.Status != ReportDone {
		f.Error = cmp.Or(r.Note, r.Status)
	}
	return f
}

// over ends a task that nobody reported on in time, or that is cancelled. gone = an agent that
// left the scene; "" = none did.
func (s *State) over(t *Task, status, why, gone string, now protocol.Time) *Ended {
	a := t.Assignment()
	v := a.named(map[string]any{"type": a.Type})
	if by := s.taker(t.ID); by != "" {
		v["by"] = by
	}
	if gone != "" {
		v["gone"] = gone
	}
	kind := protocol.KindCancelled
	if status == TimedOut {
		kind = protocol.KindTimeout
	}
	return &Ended{ID: t.ID, Agent: t.Agent, Tool: t.Tool, Status: status, Output: protocol.Encode(v), ErrorKind: kind, Error: why, At: now}
}

// lapsed ends a task whose time is over.
func (s *State) lapsed(t *Task, now protocol.Time) *Ended {
	return s.over(t, TimedOut, "nobody reported the end within "+t.Timeout.Round(time.Millisecond).String(), "", now)
}

// leaves is the end of a task with an agent that leaves the scene.
func (s *State) leaves(t *Task, agent string, now protocol.Time) Fact {
	if t.Kind == KindAgent {
		return s.over(t, Dismissed, agent+" left the scene", agent, now)
	}
	return t.Cancel(ReasonLeft, now)
}

// Finished is the end of a task between agents as agents hear of it, and who does; nobody =
// the fact is of another task.
func (f *Ended) Finished() (v map[string]any, to []string) {
	if f.Tool != AskTool {
		return nil, nil
	}
	out, _ := f.Output.Value()
	m, _ := out.(map[string]any)
	v = map[string]any{"task_id": f.ID, "status": f.Status}
	for _, name := range []string{"name", "type", "by", "note", "result"} {
		if x, ok := m[name]; ok {
			v[name] = x
		}
	}
	if f.Error != "" {
		v["error"] = f.Error
	}
	gone, _ := m["gone"].(string)
	by, _ := m["by"].(string)
	if gone != f.Agent {
		to = append(to, f.Agent)
	}
	if (f.Status == TimedOut || f.Status == Dismissed) && by != "" && by != gone {
		to = append(to, by)
	}
	return v, to
}
