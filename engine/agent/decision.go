package agent

import (
	"fmt"
	"strconv"
	"strings"

	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/person"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/agent/worldview"
	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
	"tavernsim/tam/answer"
)

// Outputs of a core workflow. All are optional, for nodes of the workflow may call
// tools, too.
const (
	OutputResponse = "response" // text, with or without calls in it
	OutputCalls    = "calls"    // list of {tool, params}
	OutputDecision = "decision" // object, see decide
)

// CoreOutputs lists what the engine reads of a core workflow.
func CoreOutputs() []string { return []string{OutputResponse, OutputCalls, OutputDecision} }

// coreEnded turns the outputs of the core workflow into speech and calls.
func (t *Turn) coreEnded(r result) {
	switch {
	case r.err != nil && t.round > 1 && t.tokens.refused && protocol.KindOf(r.err) == protocol.KindLimit:
		// No model may be asked any more: what the rounds before decided stays, and the next deliberation
		// observes the results that this round was made for.
		t.problem(r.err.Error())
		t.calls.Observe()
		return
	case r.err != nil:
		if t.round == 1 && t.steps.Some() {
			t.calls.Observe() // results of steps that had waited
		}
		t.fail("%s", r.err)
		return
	}
	t.calls.Seen()
	t.talk.Begin(r.outputs[OutputResponse], t.lastRound())
	t.heed(r.outputs)
	t.talk.End()
}

// heed turns the outputs of a workflow into speech and queued calls. The core
// workflow, skills and the reflection share it.
func (t *Turn) heed(outputs map[string]any) {
	t.respond(outputs[OutputResponse])
	t.enqueueList(outputs[OutputCalls])
	if v, ok := outputs[OutputDecision].(map[string]any); ok {
		t.decide(v)
	}
}

// respond publishes the text around the calls as speech and queues the calls.
func (t *Turn) respond(v any) {
	text, ok := v.(string)
	if !ok {
		if v != nil {
			t.problem(fmt.Sprintf("output %s is %T, want text", OutputResponse, v))
		}
		return
	}
	a := answer.Read(text, t.cutBy)
	if said := strings.TrimSpace(a.Text); said != "" {
		t.say(said)
	}
	if len(a.Calls) == 0 && len(a.Problems) > 0 {
		t.talk.Lost()
	}
	for _, p := range a.Problems {
		t.problem(p)
	}
	from := t.blocks
	for _, c := range a.Calls {
		t.enqueueAfter(from, &c)
	}
}

// NotUnderstood is the tool's name in the fact of a text that is no readable call.
const NotUnderstood = "(not understood)"

// problem records a part of the decision that could not be read; the next
// deliberation observes it, unless a round of this one certainly does.
func (t *Turn) problem(text string) {
	observe := t.talk.Problem(text)
	t.record(&protocol.Call{ID: t.nextCallID(), Tool: NotUnderstood, Origin: protocol.OriginTAM}, &protocol.CallResult{
		Status: protocol.CallFailed, Error: protocol.Errorf(protocol.KindInvalid, "%s", text),
	}, observe)
	t.calls.Show(observe)
}

// decide reads a structured decision: say, calls, skills, tools, events,
// private_state, world, goals, reflect, sleep. Each field is a shorthand for
// calls, in this order.
func (t *Turn) decide(d map[string]any) {
	if text, ok := d["say"].(string); ok && strings.TrimSpace(text) != "" {
		t.say(text)
	}
	for _, field := range []string{"calls", "tools"} {
		t.enqueueList(d[field])
	}
	t.each(d["skills"], func(v map[string]any) { t.enqueueSkill(v) })
	t.each(d["events"], func(v map[string]any) { t.short(publish.Tool, v) })
	if v, ok := d["private_state"].(map[string]any); ok {
		t.short(private.Tool, map[string]any{"op": private.OpMerge, "value": v})
	}
	t.each(d["world"], func(v map[string]any) { t.short(worldview.RequestTool, v) })
	t.each(d["goals"], func(v map[string]any) { t.short(toolUpdateGoal, v) })
	switch v := d["reflect"].(type) {
	case bool:
		if v {
			t.short(toolReflect, nil)
		}
	case string:
		t.short(toolReflect, map[string]any{"reason": v})
	}
	if v, ok := d["sleep"].(map[string]any); ok {
		t.short(toolSleep, v)
	}
	for _, text := range person.Unknown(d) {
		t.problem(text)
	}
}

// each calls f for an object, or for every object of a list.
func (t *Turn) each(v any, f func(map[string]any)) {
	switch x := v.(type) {
	case map[string]any:
		f(x)
	case []any:
		for _, e := range x {
			if m, ok := e.(map[string]any); ok {
				f(m)
			} else {
				t.problem(fmt.Sprintf("decision holds %v where an object is wanted", e))
			}
		}
	}
}

func (t *Turn) short(tool string, params map[string]any) {
	t.enqueue(&protocol.Call{Tool: tool, Params: params, Origin: protocol.OriginNative})
}

func (t *Turn) enqueueSkill(v map[string]any) {
	id, _ := v["id"].(string)
	params, _ := v["inputs"].(map[string]any)
	t.short(tool.SkillPrefix+strings.TrimPrefix(id, tool.SkillPrefix), params)
}

// enqueueList queues a list of calls. Parameters of calls that a node read out of a
// text are texts and must still be bound.
func (t *Turn) enqueueList(v any) {
	from, first := t.blocks, len(t.queue)
	take := func(c protocol.Call, err error) {
		if err != nil {
			t.problem(err.Error())
			return
		}
		if c.Origin != protocol.OriginTAM && c.Origin != protocol.OriginToolsXML {
			c.Origin = protocol.OriginNative
		}
		t.enqueueAfter(from, &c)
	}
	calls, unread := v.(callvalue.Calls)
	for i := range calls {
		take(calls.Read(i))
	}
	if !unread {
		t.each(v, func(m map[string]any) { take(callvalue.Read(m)) })
	}
	t.together(first)
}

// enqueueAfter queues a call of one answer. Blocks are numbered within their text
// but stopped within the turn, so from, the number of earlier blocks, is added.
func (t *Turn) enqueueAfter(from int, c *protocol.Call) {
	if 0 < c.Block && c.Block <= maxBlock {
		c.Block += from
		t.blocks = max(t.blocks, c.Block)
	}
	t.enqueue(c)
}

// maxBlock bounds the block numbers in calls that a workflow made as values.
const maxBlock = 1 << 20

func (t *Turn) enqueue(c *protocol.Call) {
	q := queued{Call: *c, given: c.ID, cause: t.out.Cause}
	q.ID = t.nextCallID()
	if c.Block > 0 {
		t.extend(&q)
	}
	if t.out.Spend(outbox.EntryBytes) {
		t.queue = append(t.queue, q)
	}
}

// nextCallID numbers the calls of a turn.
func (t *Turn) nextCallID() string {
	t.end.Calls++
	return itoa(t.end.Turn) + "." + itoa(uint64(t.end.Calls))
}

// carryOut carries out call i of the queue and keeps its result.
func (t *Turn) carryOut(i int) {
	c := &t.queue[i].Call
	switch {
	case c.Block > 0 && c.Block == t.stopped:
		t.took(i, c, protocol.CallResult{Status: protocol.CallNotRun}, 0)
	case t.steps.Holds(c.Block):
		t.hold(i, nil)
	default:
		t.begins(i, 0)
	}
}

// tooMany reports whether a call is beyond what one deliberation may make: those before it are carried out. A step that
// has waited for a task counted in its own turn.
func (t *Turn) tooMany(c *protocol.Call) bool {
	if t.end.Calls <= int64(t.m.Def.Limits.MaxCalls) {
		return false
	}
	turn, n, _ := strings.Cut(c.ID, ".")
	number, err := strconv.ParseInt(n, 10, 64)
	return err == nil && number > int64(t.m.Def.Limits.MaxCalls) && turn == itoa(t.end.Turn)
}

func (d *Definition) tooManyCalls() protocol.CallResult {
	return failed(protocol.Errorf(protocol.KindLimit, "more than %d calls in one deliberation (custom_runtime_config.max_calls)", d.Limits.MaxCalls))
}

func (t *Turn) keep(c *protocol.Call, r protocol.CallResult) {
	last := t.lastRound()
	if !last {
		r.ID, r.Tool, r.Output = c.ID, c.Tool, tool.Readable(r.Output)
		t.results = append(t.results, r)
	}
	if t.batch == nil && block.Stops(c, &r) {
		t.stopped = c.Block
	}
	t.noteRequest(c, &r)
	// In the last round only the next deliberation can see the result.
	t.record(c, &r, last)
	t.calls.Show(last || !t.m.Def.worthShowing(c, &r))
}

// record adds the fact of a call.
func (t *Turn) record(c *protocol.Call, r *protocol.CallResult, observe bool) {
	d := t.m.Def
	t.calls.Add(c, r, observe && d.worthShowing(c, r), !d.inFact(c, r.Status), &t.out)
}

// inFact reports whether the fact of the effect of a call holds its parameters.
func (d *Definition) inFact(c *protocol.Call, status protocol.CallStatus) bool {
	entry := d.tools[c.Tool]
	return entry != nil && entry.inFact && status == entry.status && (d.Memory == nil || d.Memory.Keep == 0) // a memory tells what was called
}

// worthShowing reports whether the agent observes a call: if it failed, or if it
// was a read. The agent sees a successful write in the state, and tools may be quiet.
func (d *Definition) worthShowing(c *protocol.Call, r *protocol.CallResult) bool {
	switch r.Status {
	case protocol.CallOK:
		entry := d.tools[c.Tool]
		return r.Output != nil && (entry == nil || !entry.Quiet)
	case protocol.CallRequested: // of a task its agent must know the id
		_, task := r.Output.(tool.TaskID)
		return task
	}
	return true
}

func failed(err *protocol.Error) protocol.CallResult {
	status := protocol.CallFailed
	if err.Kind == protocol.KindDenied {
		status = protocol.CallDenied
	}
	return protocol.CallResult{Status: status, Error: err}
}
