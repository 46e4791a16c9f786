package agent

import (
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/held"
	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// waitsFor holds call i of the queue back, if it names what an open task of its block will
// write; true = it is held, or has failed because it cannot be.
func (t *Turn) waitsFor(i int, entry *Tool, skill string) bool {
	c := &t.queue[i].Call
	if !t.steps.MayWait(c.Block) {
		return false
	}
	params, err := t.tried(c, t.m.Def.schema(entry, skill))
	if err != nil {
		return false // it fails
	}
	uri, tasks := t.steps.Early(c.Block, params, &t.tasks, t.out.Name(".", ""))
	switch {
	case uri == "":
		return false
	case t.steps.MayHold(c.Block, len(t.m.State.held())):
		t.hold(i, tasks)
	default:
		t.took(i, c, failed(protocol.Errorf(protocol.KindTransient, "%s: %s is written by the task %s, which has not ended; call again when tool.finished tells of it", c.Tool, tool.Cut(uri), tasks[0])), 0)
	}
	return true
}

// hold keeps call i of the queue for a later turn.
func (t *Turn) hold(i int, tasks []string) {
	q := &t.queue[i]
	if !t.steps.Holds(q.Block) {
		request, body := t.repeats.ID(q.Block)
		t.steps.Begin(&q.Call, request, body)
	}
	place, again := t.steps.Place(q.Block, i)
	if !again {
		place = i - slices.IndexFunc(t.queue, func(o queued) bool { return o.Block == q.Block })
	}
	waits := t.steps.Hold(&q.Call, q.timeout, place, tasks, t.outcomes.List(), &t.out)
	if t.batch != nil {
		t.batch.Hold(i)
	}
	t.took(i, &q.Call, protocol.CallResult{Status: protocol.CallRequested, Output: map[string]any{"waits_for": waits}}, 0)
}

// resume queues the steps that wait for nothing any more; false = there are none.
func (t *Turn) resume() bool {
	kept := t.m.State.held()
	for i := range kept {
		h := &kept[i]
		on, late := held.GoOn(h, &t.tasks, t.wake.Now)
		if !on {
			continue
		}
		t.out.Note(&agentfact.StepsResumed{ID: h.ID})
		t.blocks++
		for k, c := range t.steps.Resume(h, t.blocks, len(t.queue), late, &t.tasks, &t.outcomes) {
			t.queue = append(t.queue, queued{Call: c, timeout: h.Steps[k].Timeout, cause: t.out.Cause})
			t.order(&t.queue[len(t.queue)-1])
		}
	}
	return t.steps.Some()
}

// beginResumed begins the block of call i of the queue, if it was held; true = it is done
// with.
func (t *Turn) beginResumed(i int) bool {
	r := t.steps.At(i)
	if r == nil {
		return false
	}
	if same, _ := t.repeats.Find(t.m.State.answered(), r.Request, r.Body, t.wake.Now); r.Request != "" && same != nil {
		t.repeats.Reopen(same, r.Block, r.Places())
	}
	if r.Stop {
		t.keepBlock(i + len(r.Steps))
	}
	return r.Stop
}

// endResumed shows the results of held steps to the core workflow, which begins now.
func (t *Turn) endResumed() {
	t.observations = append(slices.Clip(t.observations), resultObservations(t.results, t.wake.Now)...)
	t.first = len(t.queue)
	t.forgetResults()
}

// noteHeld adds the facts of the steps that wait from now on, and the time at which the agent
// must be woken for them.
func (t *Turn) noteHeld(wake func(protocol.Time)) {
	until := t.wake.Now.Add(t.end.Elapsed + held.MaxWait)
	if facts := t.steps.Facts(until); len(facts) > 0 {
		t.out.Note(facts...)
		wake(until)
	}
	kept := t.m.State.held()
	for i := range kept {
		again := slices.ContainsFunc(t.out.Facts, func(f protocol.Fact) bool { r, ok := f.(*agentfact.StepsResumed); return ok && r.ID == kept[i].ID })
		if !again {
			wake(held.Until(&kept[i], &t.tasks))
		}
	}
}

// held are the blocks with steps that wait.
func (s *State) held() []agentfact.Held {
	if s.more == nil {
		return nil
	}
	return s.more.held
}

func (s *State) holdSteps(f *agentfact.StepsHeld) {
	d := s.change()
	d.held = append(slices.Clip(d.held), f.Held)
}

func (s *State) resumeSteps(f *agentfact.StepsResumed) {
	d := s.change()
	d.held = slices.DeleteFunc(slices.Clone(d.held), func(h agentfact.Held) bool { return h.ID == f.ID })
	if len(d.held) == 0 {
		d.held = nil
	}
	s.slim()
}
