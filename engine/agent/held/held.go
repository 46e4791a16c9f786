// Package held holds back the steps of a block that need the result of a task of the block.
// They continue in a later turn, when the task has ended or their waiting time is over.
//
// # Promises
//
//  1. A held step has all values that it refers to, however much later it continues.
//  2. Steps that continue wait for the held steps that they name.
//
// # Not here
//
// Which steps run, and in which order: engine/agent and engine/agent/block.
package held

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
)

// Bounds of steps that wait.
const (
	MaxWait = 30 * time.Second // of scene time, after the task was opened
	MaxHeld = 16               // blocks of an agent with such steps; a step of one more fails
)

// Steps are what a turn knows of such steps.
type Steps struct {
	promises []agentfact.Promise // of tasks
	holds    []hold              // for later turns
	resumed  []Resumed           // that have waited
}

// hold is what a turn holds back of a block.
type hold struct {
	block int
	agentfact.Held
}

// Resumed are steps that go on in this turn.
type Resumed struct {
	*agentfact.Held
	Block int
	From  int  // of the queue
	Stop  bool // a task that they waited for failed, and ends their block
	late  bool // they have waited long enough
}

// Places are those of the steps in their block, as it was written.
func (r *Resumed) Places() (places []int) {
	for i := range r.Steps {
		places = append(places, int(r.Steps[i].Place))
	}
	return places
}

// Promise notes the URIs that a task was given to write.
func (s *Steps) Promise(c *protocol.Call, params map[string]any, task string) {
	for _, name := range protocol.SortedKeys(params) {
		if uri, ok := params[name].(string); ok && c.Block > 0 && strings.HasPrefix(name, "output") && strings.Contains(uri, ":") {
			s.promises = append(s.promises, agentfact.Promise{Block: int64(c.Block), URI: uri, Task: task, Stops: c.OnError != protocol.OnErrorContinue})
		}
	}
}

// MayWait reports whether a step of a block may name what a task will write.
func (s *Steps) MayWait(number int) bool { return len(s.promises) > 0 && number > 0 }

// Early is what the parameters of a step name although tasks of its block, which are open, will
// write it. The ids of tasks that this turn opens begin with mine.
func (s *Steps) Early(number int, params map[string]any, tasks *tooltask.State, mine string) (uri string, by []string) {
	for _, p := range s.promises {
		opens := tasks.Task(p.Task) != nil || strings.HasPrefix(p.Task, mine)
		if p.Block == int64(number) && opens && block.Mentions(params, p.URI) {
			uri, by = p.URI, append(by, p.Task)
		}
	}
	return uri, by
}

// MayHold reports whether a step may be held back, if so many blocks are held already.
func (s *Steps) MayHold(number, kept int) bool {
	late := slices.ContainsFunc(s.resumed, func(r Resumed) bool { return r.Block == number && r.late })
	return !late && (s.Holds(number) || kept+len(s.holds) < MaxHeld)
}

// Holds reports whether some of a block is held back.
func (s *Steps) Holds(number int) bool { return s.of(number) != nil }

func (s *Steps) of(number int) *agentfact.Held {
	for i := range s.holds {
		if number > 0 && s.holds[i].block == number {
			return &s.holds[i].Held
		}
	}
	return nil
}

// Begin holds a block back, from a call on. request and body are those of its request_id.
func (s *Steps) Begin(c *protocol.Call, request, body string) {
	h := agentfact.Held{ID: c.ID, Request: request, Body: body}
	for _, p := range s.promises {
		if p.Block == int64(c.Block) {
			h.Promises = append(h.Promises, p)
		}
	}
	s.holds = append(s.holds, hold{c.Block, h})
}

// Hold holds a step back, with the results that it refers to. It gives the tasks for which its block waits.
func (s *Steps) Hold(step *protocol.Call, timeout time.Duration, place int, tasks []string, results []block.Result, out *outbox.Box) string {
	h := s.of(step.Block)
	for _, task := range tasks {
		if !slices.Contains(h.Waits, task) {
			h.Waits = append(h.Waits, task)
		}
	}
	for _, o := range results {
		known := func(x agentfact.HeldOutcome) bool { return x.Index == int64(o.Index) }
		if o.Block == step.Block && slices.Contains(block.Steps(step), o.Index) && !slices.ContainsFunc(h.Outcomes, known) && !isHeld(h, o.Index) {
			h.Outcomes = append(h.Outcomes, agentfact.HeldOutcome{Index: int64(o.Index), Status: o.Status, Output: slices.Clone(out.Encode(o.Output)), Artifact: o.Artifact})
		}
	}
	call := *step
	call.RequestID = ""
	h.Steps = append(h.Steps, agentfact.HeldStep{Call: slices.Clone(out.Encode(callvalue.Of(&call))), Place: int64(place), Timeout: timeout})
	return strings.Join(h.Waits, ", ")
}

// isHeld reports whether a step of a block is held.
func isHeld(h *agentfact.Held, index int) bool {
	return slices.ContainsFunc(h.Steps, func(s agentfact.HeldStep) bool { return callOf(&s).Index == index })
}

// callOf is the call of a step.
func callOf(s *agentfact.HeldStep) protocol.Call {
	v, _ := s.Call.Value()
	c, _ := callvalue.Read(v) // CallValue made it
	return c
}

// Drop holds nothing back any more.
func (s *Steps) Drop() { s.holds = nil }

// Facts are those of the steps that wait from now on, until then at the latest.
func (s *Steps) Facts(until protocol.Time) (facts []protocol.Fact) {
	for i := range s.holds {
		h := &s.holds[i].Held
		h.Until = until
		facts = append(facts, &agentfact.StepsHeld{Held: *h})
	}
	return facts
}

// GoOn reports whether steps wait for nothing any more, and whether they have waited too long. A
// task that is not known any more has ended, once the time is over.
func GoOn(h *agentfact.Held, tasks *tooltask.State, now protocol.Time) (on, late bool) {
	open := slices.ContainsFunc(h.Waits, func(id string) bool {
		return !slices.ContainsFunc(tasks.Past, func(p tooltask.Past) bool { return p.ID == id })
	})
	late = Until(h, tasks) <= now
	return !open || late, late
}

// Until is when steps wait no longer: on the realtime clock a task is opened later than the
// turn knows.
func Until(h *agentfact.Held, tasks *tooltask.State) protocol.Time {
	until := h.Until
	for _, id := range h.Waits {
		if x := tasks.Task(id); x != nil {
			until = max(until, x.Opened.Add(MaxWait))
		}
	}
	return until
}

// Resume lets steps go on, as a block of the turn whose calls are queued from a place on. It gives
// these calls in order, and adds the results that they refer to.
func (s *Steps) Resume(h *agentfact.Held, number, from int, late bool, tasks *tooltask.State, results *block.Results) (calls []protocol.Call) {
	s.resumed = append(s.resumed, Resumed{Held: h, Block: number, From: from, Stop: stops(h, tasks), late: late})
	for _, p := range h.Promises {
		p.Block = int64(number)
		s.promises = append(s.promises, p)
	}
	for _, o := range h.Outcomes {
		v, _ := o.Output.Value()
		results.Add(block.Result{Block: number, Index: int(o.Index), Status: o.Status, Output: v, Artifact: o.Artifact})
	}
	var indexes []string
	for i := range h.Steps {
		c := callOf(&h.Steps[i])
		c.Block = number
		if c.After != "" {
			c.After = block.Only(c.After, indexes)
		}
		indexes = append(indexes, strconv.Itoa(c.Index))
		calls = append(calls, c)
	}
	return calls
}

// stops reports whether a task that has failed ends the block.
func stops(h *agentfact.Held, tasks *tooltask.State) bool {
	return slices.ContainsFunc(h.Promises, func(p agentfact.Promise) bool {
		return p.Stops && slices.Contains(h.Waits, p.Task) && slices.ContainsFunc(tasks.Past, func(x tooltask.Past) bool { return x.ID == p.Task && x.Status != "ok" })
	})
}

// Some reports whether steps go on in this turn.
func (s *Steps) Some() bool { return len(s.resumed) > 0 }

// At are the steps that go on from a place of the queue; nil = none do.
func (s *Steps) At(from int) *Resumed {
	for i := range s.resumed {
		if s.resumed[i].From == from {
			return &s.resumed[i]
		}
	}
	return nil
}

// Place is that of a call of the queue in its block, as it was written; false = it has not waited.
func (s *Steps) Place(number, at int) (int, bool) {
	for _, r := range s.resumed {
		if r.Block == number {
			return int(r.Steps[at-r.From].Place), true
		}
	}
	return 0, false
}
