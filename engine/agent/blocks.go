package agent

import (
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/agent/block"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// batchAt makes the batch that begins with call i of the queue; nil = the call runs alone.
func (t *Turn) batchAt(i int) *block.Batch {
	if !t.beside || t.queue[i].Block == 0 {
		return nil
	}
	to, beside := i, false
	for ; to < len(t.queue) && t.queue[to].Block == t.queue[i].Block; to++ {
		beside = beside || t.queue[to].After != ""
	}
	if !beside {
		return nil
	}
	steps := make([]block.Step, to-i)
	for k := range steps {
		q := &t.queue[i+k]
		steps[k] = block.Step{Index: q.Index, After: q.After, Alone: !t.m.Def.outside(&q.Call)}
		if q.Origin == protocol.OriginTAM && q.After != "" {
			steps[k].Refers = block.Steps(&q.Call)
		}
	}
	b := block.NewBatch(i, t.toolsAsked+1, steps, t.end.Elapsed, t.spent())
	t.toolsAsked += len(steps)
	return b
}

// stepBatch keeps results, and starts the calls that wait for nothing any more; false =
// nothing could be done.
func (t *Turn) stepBatch() (did bool) {
	b := t.batch
	for {
		for m := b.Next(false); m != nil; m = b.Next(false) {
			t.keepMember(m)
			did = true
		}
		next := b.Ready()
		if next < 0 || t.cancelled {
			break
		}
		t.startMember(next)
		did = true
	}
	if elapsed, done := b.Done(); done {
		t.end.Elapsed = max(t.end.Elapsed, elapsed)
		t.done, t.batch = b.End(), nil
	}
	return did
}

// keepMember writes what came of a call.
func (t *Turn) keepMember(m *block.Member) {
	t.out.Note(m.Facts...)
	for _, text := range m.Problems {
		t.problem(text)
	}
	if m.Call != nil {
		t.keep(m.Call, m.Result)
	}
}

// startMember carries call at of the queue out, or says why it is not run.
func (t *Turn) startMember(at int) {
	c := &t.queue[at].Call
	stopped, held, wrong := t.batch.Start(at)
	switch {
	case stopped, t.stopped != 0 && c.Block == t.stopped:
		t.took(at, c, protocol.CallResult{Status: protocol.CallNotRun}, 0)
	case held:
		t.hold(at, nil)
	case wrong != nil:
		t.took(at, c, failed(protocol.Errorf(protocol.KindInvalid, "%s: %w", c.Tool, wrong)), 0)
	default:
		t.begins(at, t.batch.Number+at-t.batch.From)
	}
}

// flush keeps what has settled when the turn is cancelled.
func (t *Turn) flush() {
	if b := t.batch; b != nil {
		for m := b.Next(true); m != nil; m = b.Next(true) {
			t.keepMember(m)
		}
		t.batch = nil
	}
}

// took takes the result of call i of the queue, and the time that it took.
func (t *Turn) took(i int, c *protocol.Call, r protocol.CallResult, latency time.Duration) {
	t.outcomes.Keep(c, &r)
	if t.batch != nil {
		t.batch.Settle(i, c, r, latency)
		return
	}
	t.end.Elapsed += latency
	t.keep(c, r)
}

// begins carries out call i of the queue. number is that of its request to the outside, 0
// = the next.
func (t *Turn) begins(i, number int) {
	q := &t.queue[i]
	c := &q.Call
	switch {
	case q.wrong != nil:
		t.took(i, c, failed(protocol.Errorf(protocol.KindInvalid, "%s: %w", c.Tool, q.wrong)), 0)
		return
	case t.tooMany(c):
		t.took(i, c, t.m.Def.tooManyCalls(), 0)
		return
	}
	entry, skill, refused := t.m.Def.find(c)
	if refused == nil && t.waitsFor(i, entry, skill) {
		return
	}
	if t.judged(c, refused, 0) {
		t.permit(entry, skill, c, of{at: i, number: number}, func(no *protocol.Error, number int, waited time.Duration) {
			t.act(i, number, entry, skill, no, waited)
		})
		return
	}
	t.act(i, number, entry, skill, refused, 0)
}

// act carries out call i of the queue, or lets it be refused, after it
// waited for an approver in vain.
func (t *Turn) act(i, number int, entry *Tool, skill string, refused *protocol.Error, waited time.Duration) {
	q := &t.queue[i]
	c := &q.Call
	t.out.Cause = q.cause
	if t.batch != nil {
		t.batch.Starts(i)
	}
	switch {
	case refused != nil:
		t.took(i, c, failed(refused), waited)
	case t.searches(entry) && t.queries(entry, c, waiting{at: i}, func() { t.act(i, number, entry, skill, nil, waited) }):
	case skill != "":
		t.startStep(i, entry, skill)
	case entry != nil && entry.Async:
		t.took(i, c, t.openTask(entry, c, number, q.timeout), 0)
	case entry != nil && entry.Kind != "":
		if r, ended := t.askTool(entry, c, number, &workflow.Request{Timeout: q.timeout}, waiting{at: i}); ended {
			t.took(i, c, r, 0)
		}
	default:
		t.took(i, c, t.perform(entry, c, nil), 0)
	}
}

// startStep runs the skill of call i of the queue.
func (t *Turn) startStep(i int, entry *Tool, skill string) {
	q, in := &t.queue[i], within{at: t.end.Elapsed}
	if in.timeout = q.timeout; t.batch != nil {
		in.at = t.batch.At(i)
	}
	t.startSkill(entry, skill, &q.Call, in, func(r protocol.CallResult, took time.Duration) {
		if t.batch == nil || t.m.Def.Realtime {
			took = 0 // the turn knows already
		}
		t.took(i, &t.queue[i].Call, r, took)
	})
}

// extend reads what a step of a text says about its order and time, and notes whether its
// block needs the results of its steps.
func (t *Turn) extend(q *queued) {
	if q.Origin != protocol.OriginTAM {
		t.beside = t.beside || q.After != ""
		return
	}
	for name := range q.Params {
		if strings.HasPrefix(name, "x_") {
			q.timeout, q.wrong = block.Extensions(&q.Call, func(name string) bool { return t.m.Def.declares(&q.Call, name) })
			break
		}
	}
	t.order(q)
}

// order notes whether a step of a text runs beside others, and whether it names their results.
func (t *Turn) order(q *queued) {
	t.beside = t.beside || q.After != ""
	t.outcomes.Named = t.outcomes.Named || len(block.Steps(&q.Call)) > 0
}

// together lets the native calls of one answer run beside each other if all their tools
// allow it.
func (t *Turn) together(from int) {
	list := t.queue[from:]
	if len(list) < 2 || !t.m.Def.parallel {
		return
	}
	for i := range list {
		named := list[i].Call
		entry, _, _ := t.m.Def.find(&named)
		if list[i].Block != 0 || list[i].Origin != protocol.OriginNative || entry == nil || !entry.Parallel {
			return
		}
	}
	t.blocks, t.beside = t.blocks+1, true
	for i := range list {
		list[i].Block, list[i].After, list[i].OnError, list[i].Index = t.blocks, block.None, protocol.OnErrorContinue, i+1
	}
}

// bound binds the parameters of a call, and replaces the references in those of a text.
func (t *Turn) bound(c *protocol.Call, schema *bind.Schema) (map[string]any, error) {
	if c.Origin != protocol.OriginTAM || !block.HasReferences(c) {
		return bind.Bind(c, schema)
	}
	params, unknown, err := block.Bind(c, schema, t.outcomes.Values(c, t.referred))
	if len(unknown) > 0 {
		t.noteProblem("unknown_reference: step " + strconv.Itoa(c.Index) + " (" + c.Tool + "): @{" + strings.Join(unknown, "}, @{") +
			"} stayed as it is; known are common_NAME of the block, timestamp, run_id, scene_id, self.NAME, and step_N.status, step_N.output.PATH and step_N.artifact of steps that have a result")
	}
	return params, err
}

// tried is bound for parameters that are bound again afterwards.
func (t *Turn) tried(c *protocol.Call, schema *bind.Schema) (map[string]any, error) {
	t.trying = true
	params, err := t.bound(c, schema)
	t.trying = false
	return params, err
}

// referred gives what references name beside the steps and common values of a block.
func (t *Turn) referred(name string) (any, bool) {
	if path, ok := strings.CutPrefix(name, "self."); ok {
		self, _ := t.Lookup("self")
		return block.At(self, path)
	}
	switch name {
	case "timestamp":
		return t.wake.Now.String(), true
	case "run_id":
		return t.m.Def.Run, t.m.Def.Run != ""
	case "scene_id":
		return t.m.Def.Scene, t.m.Def.Scene != ""
	}
	return nil, false
}

// noteProblem is problem, for a call of a batch when the call is kept.
func (t *Turn) noteProblem(text string) {
	switch {
	case t.trying:
		return
	case t.batch == nil:
		t.problem(text)
		return
	}
	t.batch.Problem(text)
}
