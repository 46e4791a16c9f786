package agent

import (
	"iter"
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// taskEnd is a closed task, and how it ended.
type taskEnd struct {
	ID  string
	How agentfact.TaskEnd
}

// maxClosed bounds the closed tasks that an agent remembers to recognise late and
// second answers.
const maxClosed = 64

// Tasks lists the open tasks, oldest first.
func (s *State) Tasks() []agentfact.Task {
	if s.more == nil {
		return nil
	}
	return slices.Clone(s.more.tasks)
}

func (s *State) task(id string) (agentfact.Task, bool) {
	for _, t := range s.Tasks() {
		if t.ID == id {
			return t, true
		}
	}
	return agentfact.Task{}, false
}

func (s *State) taskEnd(id string) agentfact.TaskEnd {
	if s.more != nil {
		for _, e := range s.more.closed {
			if e.ID == id {
				return e.How
			}
		}
	}
	return ""
}

func (s *State) openTask(f *agentfact.TaskOpened) {
	d := s.change()
	d.tasks = append(slices.Clip(d.tasks), f.Task)
}

func (s *State) closeTask(f *agentfact.TaskClosed) {
	d := s.change()
	d.tasks = slices.DeleteFunc(slices.Clone(d.tasks), func(t agentfact.Task) bool { return t.ID == f.Task })
	if len(d.tasks) == 0 {
		d.tasks = nil
	}
	d.closed = newest(d.closed, taskEnd{f.Task, f.How}, maxClosed)
}

// ask opens a task for an event that expects a reply.
func (t *Turn) ask(d *protocol.Draft) error {
	open := len(t.m.State.Tasks()) + t.opened
	if limit := t.m.Def.Limits.MaxTasks; open >= limit {
		return protocol.Errorf(protocol.KindLimit, "%d tasks are open, more are refused (custom_runtime_config.max_tasks)", limit)
	}
	if d.TaskID == "" {
		d.TaskID = t.out.NextID()
	}
	if _, open := t.m.State.task(d.TaskID); open || opensTask(t.out.Facts, d.TaskID) {
		return protocol.Errorf(protocol.KindConflict, "task_id %q: you asked for it already; leave it out to get a new one", d.TaskID)
	}
	t.opened++
	t.out.Note(&agentfact.TaskOpened{Task: agentfact.Task{
		ID: d.TaskID, Type: d.Type, Targets: d.Targets, Asked: t.wake.Now, Deadline: t.wake.Now.Add(t.m.Def.Limits.TaskTimeout),
	}})
	return nil
}

// opensTask reports whether a turn with these facts opened the task.
func opensTask(facts []protocol.Fact, id string) bool {
	return slices.ContainsFunc(facts, func(f protocol.Fact) bool {
		o, ok := f.(*agentfact.TaskOpened)
		return ok && o.Task.ID == id
	})
}

// owed is a question that the agent perceived and may answer in a later turn.
type owed struct{ Task, Asker string }

// maxOwed bounds the questions that an agent remembers; the oldest is dropped.
const maxOwed = 64

// owe remembers a question that a turn perceived.
func (s *State) owe(e *protocol.Envelope) {
	q := owed{e.TaskID, e.Source}
	if !e.ExpectsReply || e.TaskID == "" || s.more != nil && slices.Contains(s.more.owed, q) {
		return
	}
	d := s.change()
	d.owed = newest(d.owed, q, maxOwed)
}

// answers addresses a reply without receivers to the agent that asked.
func (t *Turn) answers(d *protocol.Draft) error {
	if err := t.tasks.Reserved(d); err != nil || d.TaskID == "" || len(d.Targets) > 0 {
		return err
	}
	asker := t.m.State.askerOf(t.events, d.TaskID)
	if asker == "" {
		return protocol.Errorf(protocol.KindNotFound, "task_id %s: no question with it has reached you, of the last %d; name target_agent_instance_id", tool.Cut(d.TaskID), maxOwed)
	}
	d.Targets = []string{asker}
	return nil
}

// asked yields the questions that are among these events or that an earlier turn perceived, each with its asker. The one that
// counts of a question is the first.
func (s *State) asked(events []*protocol.Envelope, yield func(task, asker string) bool) {
	for _, e := range events {
		if e.ExpectsReply && !yield(e.TaskID, e.Source) {
			return
		}
	}
	if s.more != nil {
		for _, q := range slices.Backward(s.more.owed) {
			if !yield(q.Task, q.Asker) {
				return
			}
		}
	}
}

// askerOf finds the asker of a question; "" = there is none.
func (s *State) askerOf(events []*protocol.Envelope, task string) (asker string) {
	s.asked(events, func(id, by string) bool {
		if id == task {
			asker = by
		}
		return id != task
	})
	return asker
}

// askedIn yields the questions that somebody asked.
func (s *State) askedIn(events []*protocol.Envelope) iter.Seq[string] {
	return func(yield func(string) bool) {
		s.asked(events, func(task, asker string) bool { return asker == "" || yield(task) })
	}
}

// answerTo finds the event that answers the task; nil = none does.
func answerTo(events []*protocol.Envelope, task string) *protocol.Envelope {
	for _, e := range events {
		if e.TaskID == task && !e.ExpectsReply {
			return e
		}
	}
	return nil
}

// closeTasks ends the tasks that are answered or overdue. An answer that requires an
// acknowledgement and was not handled counts when the agent perceives it again.
func (t *Turn) closeTasks() {
	if t.m.State.more == nil || t.interrupted {
		return
	}
	for _, task := range t.m.State.Tasks() {
		e := answerTo(t.events, task.ID)
		switch {
		case e != nil && (t.end.Outcome == agentfact.OutcomeOK || !acknowledged(e)):
			t.out.Note(&agentfact.TaskClosed{Task: task.ID, How: agentfact.TaskAnswered, Event: e.ID})
		case e == nil && task.Deadline <= t.wake.Now:
			t.out.Note(&agentfact.TaskClosed{Task: task.ID, How: agentfact.TaskTimeout})
		}
	}
}

// taskValue describes an answer, one of these events, to its receiver: answered, with the request,
// double, or late; nil = the event answers no task of this agent.
func (s *State) taskValue(e *protocol.Envelope, events []*protocol.Envelope) map[string]any {
	if e.TaskID == "" || e.ExpectsReply {
		return nil
	}
	if task, open := s.task(e.TaskID); open {
		if answerTo(events, e.TaskID) != e {
			return map[string]any{"status": "double"}
		}
		return map[string]any{"status": "answered", "request": task.Value()}
	}
	switch s.taskEnd(e.TaskID) {
	case agentfact.TaskAnswered:
		return map[string]any{"status": "double"}
	case agentfact.TaskTimeout:
		return map[string]any{"status": "late"}
	}
	return nil
}
