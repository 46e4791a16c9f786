package agent

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
)

// Bounds of steps that wait.
const (
	maxWait = 30 * time.Second // of scene time, after the task was opened
	maxHeld = 16               // blocks of an agent with such steps; a step of one more fails
)

// promise notes the URIs that a task was given to write.
func (t *Turn) promise(c *protocol.Call, params map[string]any, task string) {
	for _, name := range protocol.SortedKeys(params) {
		if uri, ok := params[name].(string); ok && c.Block > 0 && strings.HasPrefix(name, "output") && strings.Contains(uri, ":") {
			t.promises = append(t.promises, agentfact.Promise{Block: int64(c.Block), URI: uri, Task: task, Stops: c.OnError != protocol.OnErrorContinue})
		}
	}
}

// waitsFor holds call i of the queue back, if it names what an open task of its block will
// write; true = it is held, or has failed because it cannot be.
func (t *Turn) waitsFor(i int, entry *Tool, skill string) bool {
	c := &t.queue[i].Call
	uri, tasks := t.early(c, entry, skill)
	if uri == "" {
		return false
	}
	late := slices.ContainsFunc(t.resumed, func(r resumed) bool { return r.block == c.Block && r.late })
	if late || t.holding(c.Block) == nil && len(t.m.State.held())+len(t.holds) >= maxHeld {
		t.took(i, c, failed(protocol.Errorf(protocol.KindTransient, "%s: %s is written by the task %s, which has not ended; call again when tool.finished tells of it", c.Tool, tool.Cut(uri), tasks[0])), 0)
		return true
	}
	t.hold(i, tasks)
	return true
}

// early is what a call names although a task of its block, which is open, will write it.
func (t *Turn) early(c *protocol.Call, entry *Tool, skill string) (uri string, tasks []string) {
	if len(t.promises) == 0 || c.Block == 0 {
		return "", nil
	}
	schema := t.m.Def.schemas[skill]
	if entry != nil {
		schema = &entry.schema
	}
	t.trying = true
	params, err := t.bound(c, schema)
	t.trying = false
	if err != nil {
		return "", nil // it fails
	}
	for _, p := range t.promises {
		if p.Block == int64(c.Block) && t.opens(p.Task) && block.Mentions(params, p.URI) {
			uri, tasks = p.URI, append(tasks, p.Task)
		}
	}
	return uri, tasks
}

// opens reports whether a task is open, or will be after this turn.
func (t *Turn) opens(task string) bool {
	return t.tasks.Task(task) != nil || strings.HasPrefix(task, t.out.Name(".", ""))
}

// holding is what is held of a block in this turn; nil = nothing.
func (t *Turn) holding(number int) *agentfact.Held {
	for i := range t.holds {
		if number > 0 && t.holds[i].block == number {
			return &t.holds[i].Held
		}
	}
	return nil
}

// holds is what a turn holds back of a block.
type holds struct {
	block int
	agentfact.Held
}

// hold keeps call i of the queue for a later turn, with what it refers to.
func (t *Turn) hold(i int, tasks []string) {
	q := &t.queue[i]
	h := t.holding(q.Block)
	if h == nil {
		t.holds = append(t.holds, holds{q.Block, agentfact.Held{ID: q.ID}})
		h = &t.holds[len(t.holds)-1].Held
		for _, p := range t.promises {
			if p.Block == int64(q.Block) {
				h.Promises = append(h.Promises, p)
			}
		}
		if r := t.idempotent; r != nil && r.block == q.Block {
			h.Request, h.Body = r.id, r.body
		}
	}
	for _, task := range tasks {
		if !slices.Contains(h.Waits, task) {
			h.Waits = append(h.Waits, task)
		}
	}
	for _, o := range t.outcomes {
		known := func(x agentfact.HeldOutcome) bool { return x.Index == int64(o.index) }
		if o.block == q.Block && slices.Contains(block.Steps(q.Params), o.index) && !slices.ContainsFunc(h.Outcomes, known) && !t.isHeld(h, o.index) {
			h.Outcomes = append(h.Outcomes, agentfact.HeldOutcome{Index: int64(o.index), Status: o.status, Output: slices.Clone(t.out.Encode(o.output)), Artifact: o.artifact})
		}
	}
	call := q.Call
	call.RequestID = ""
	h.Steps = append(h.Steps, agentfact.HeldStep{Call: slices.Clone(t.out.Encode(callvalue.Of(&call))), Place: int64(t.placeOf(i)), Timeout: q.timeout})
	if t.batch != nil {
		t.batch.members[i-t.batch.from].held = true
	}
	t.took(i, &q.Call, protocol.CallResult{Status: protocol.CallRequested, Output: map[string]any{"waits_for": strings.Join(h.Waits, ", ")}}, 0)
}

// placeOf is the place of call i of the queue in its block, as it was written.
func (t *Turn) placeOf(i int) int {
	for _, r := range t.resumed {
		if r.block == t.queue[i].Block {
			return int(r.Steps[i-r.from].Place)
		}
	}
	first := slices.IndexFunc(t.queue, func(q queued) bool { return q.Block == t.queue[i].Block })
	return i - first
}

// isHeld reports whether a step of a block is held.
func (t *Turn) isHeld(h *agentfact.Held, index int) bool {
	return slices.ContainsFunc(h.Steps, func(s agentfact.HeldStep) bool { return callOf(&s).Index == index })
}

// callOf is the call of a step.
func callOf(s *agentfact.HeldStep) protocol.Call {
	v, _ := s.Call.Value()
	c, _ := callvalue.Read(v) // CallValue made it
	return c
}

// resumed are steps that go on in this turn.
type resumed struct {
	*agentfact.Held
	block int
	from  int  // of the queue
	late  bool // they have waited long enough
	stop  bool // a task that they waited for failed, and ends their block
}

// resume queues the steps that wait for nothing any more; false = there are none.
func (t *Turn) resume() bool {
	for i := range t.m.State.held() {
		h := &t.m.State.more.held[i]
		open := slices.ContainsFunc(h.Waits, func(id string) bool { return !t.hasEnded(id) })
		late := t.until(h) <= t.wake.Now
		if open && !late {
			continue
		}
		t.out.Note(&agentfact.StepsResumed{ID: h.ID})
		t.blocks++
		t.resumed = append(t.resumed, resumed{Held: h, block: t.blocks, from: len(t.queue), late: late, stop: t.stops(h)})
		for _, p := range h.Promises {
			p.Block = int64(t.blocks)
			t.promises = append(t.promises, p)
		}
		for _, o := range h.Outcomes {
			v, _ := o.Output.Value()
			t.outcomes = append(t.outcomes, outcome{t.blocks, int(o.Index), o.Status, v, o.Artifact})
		}
		t.queueHeld(h)
	}
	return len(t.resumed) > 0
}

// queueHeld queues steps. They wait for those that they named, of the ones that were held,
// too.
func (t *Turn) queueHeld(h *agentfact.Held) {
	var indexes []string
	for i := range h.Steps {
		q := queued{Call: callOf(&h.Steps[i]), timeout: h.Steps[i].Timeout}
		q.Block = t.blocks
		if q.After != "" {
			q.After = block.Only(q.After, indexes)
		}
		indexes = append(indexes, strconv.Itoa(q.Index))
		t.beside = t.beside || q.After != ""
		t.remembers = t.remembers || len(block.Steps(q.Params)) > 0
		t.queue = append(t.queue, q)
	}
}

// hasEnded reports whether a task has ended. One that is not known any more has, once the
// time is over.
func (t *Turn) hasEnded(task string) bool {
	return slices.ContainsFunc(t.tasks.Past, func(p tooltask.Past) bool { return p.ID == task })
}

// stops reports whether a task that has failed ends the block.
func (t *Turn) stops(h *agentfact.Held) bool {
	return slices.ContainsFunc(h.Promises, func(p agentfact.Promise) bool {
		return p.Stops && slices.Contains(h.Waits, p.Task) && slices.ContainsFunc(t.tasks.Past, func(x tooltask.Past) bool { return x.ID == p.Task && x.Status != "ok" })
	})
}

// until is when steps wait no longer: on the realtime clock a task is opened later than the
// turn knows.
func (t *Turn) until(h *agentfact.Held) protocol.Time {
	until := h.Until
	for _, id := range h.Waits {
		if x := t.tasks.Task(id); x != nil {
			until = max(until, x.Opened.Add(maxWait))
		}
	}
	return until
}

// beginResumed begins the block of call i of the queue, if it was held; true = it is done
// with.
func (t *Turn) beginResumed(i int) bool {
	k := slices.IndexFunc(t.resumed, func(r resumed) bool { return r.from == i })
	if k < 0 {
		return false
	}
	r := &t.resumed[k]
	t.reopen(r)
	if !r.stop {
		return false
	}
	for ; t.done < r.from+len(r.Steps); t.done++ {
		t.keep(&t.queue[t.done].Call, protocol.CallResult{Status: protocol.CallNotRun})
	}
	return true
}

// endResumed shows the results of held steps to the core workflow, which begins now.
func (t *Turn) endResumed() {
	t.observations = append(slices.Clip(t.observations), t.resultObservations()...)
	t.results, t.stopped, t.outcomes, t.first = t.results[:0], 0, nil, len(t.queue)
}

// noteHeld adds the facts of the steps that wait from now on, and the time at which the agent
// must be woken for them.
func (t *Turn) noteHeld(wake func(protocol.Time)) {
	for i := range t.holds {
		h := &t.holds[i].Held
		h.Until = t.wake.Now.Add(t.end.Elapsed + maxWait)
		t.out.Note(&agentfact.StepsHeld{Held: *h})
		wake(h.Until)
	}
	for i := range t.m.State.held() {
		h := &t.m.State.more.held[i]
		again := slices.ContainsFunc(t.out.Facts, func(f protocol.Fact) bool { r, ok := f.(*agentfact.StepsResumed); return ok && r.ID == h.ID })
		if !again {
			wake(t.until(h))
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
