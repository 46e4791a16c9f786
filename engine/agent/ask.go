package agent

import (
	"cmp"
	"slices"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/talk"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/budget"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/protocol/bound"
	"tavernsim/tam/bind"
)

// External is a tool that the executor of its kind carries out, outside of the
// deliberation. [CheckExternal] validates it.
type External struct {
	Spec  protocol.ToolSpec
	Kind  string                            // "" = a skill carries it out
	Skill string                            // id of its workflow
	Calls []string                          // that the workflow may make, by tool.ID; nil = all that its caller may
	Check func(params map[string]any) error // of bound parameters; nil = all are right
	// CheckOutput says what is wrong with the outputs of the workflow; nil = all are right. An
	// executor checks its own.
	CheckOutput func(output any) error
	Timeout     time.Duration // of a call; a node may set a shorter one. 0 = the executor's
	Once        bool          // a call must not be repeated: an agent that does not wait for its answer is told
	Free        bool          // a call only reads: a workflow that made it may be repeated
	// References says that the executor fetches what parameters refer to (Call.URIs, by
	// name), and then checks all of them.
	References bool
	Secrets    bool // texts of parameters may name secrets, $KARYI{NAME}

	Quiet bool // the next turn observes a call only if it failed

	// Async: calls outlive their turn, as tasks of the service tooltask. Latency is how long
	// they take on the virtual clock.
	Async   bool
	Latency time.Duration
	// Cost of a call, in nano-dollars.
	Cost int64
	// Parallel: native calls of one answer run beside each other if all their tools allow it.
	Parallel bool
}

// waiting is a request without an answer, and the run or call that waits for it.
type waiting struct {
	kind    string
	number  int
	run     *activeRun             // the workflow that asked; nil = the queue of calls
	at      int                    // of the queue
	request int                    // of the run
	call    *protocol.Call         // nil = a model is asked, or hooks
	leave   func(*effect.Answered) // leave to make the call is asked for
	hook    bool                   // hooks are asked
	then    func(*effect.Answered) // a model is asked without a workflow
	tokens  int64                  // that are reserved for a model
	came    *effect.Answered       // kept until those before have theirs; nil = it has not come
}

// askModel passes a model request on, within the agent's limits.
func (t *Turn) askModel(run *activeRun, q *workflow.Request) (workflow.Answer, bool) {
	return t.askModelFor(q, run.purpose, waiting{run: run, request: q.ID})
}

// askModelFor passes it on for a purpose; w waits for the answer.
func (t *Turn) askModelFor(q *workflow.Request, purpose protocol.Purpose, w waiting) (workflow.Answer, bool) {
	var prompt, answer int64
	if t.wake.Workflow != knowledge.MomentEmbed { // bounded by what is asked for at once
		var err error
		if prompt, answer, err = t.tokens.room(&q.Model, t.m.Def.Rooms[cmp.Or(q.Model.Model, t.m.Def.Model)].Extra, &t.m.Def.Limits, &t.end); err != nil {
			return workflow.Answer{Err: err}, true
		}
	}
	t.end.ModelCalls++
	ask := put(&t.wishes, effect.Ask{Kind: effect.KindModel, Number: int(t.end.ModelCalls), Wait: q.Wait, Model: q.Model})
	req := &ask.Model
	req.Agent, req.Profile, req.Now = t.m.ID.Instance, t.m.Def.Profile, t.wake.Now
	req.Cap, req.MaxTokens = int(answer), min(req.MaxTokens, int(answer))
	req.Draw = t.draw.Sub(modelDraws, uint64(t.end.ModelCalls))
	if req.Timeout == 0 {
		req.Timeout = q.Timeout
	}
	ask.Timeout = req.Timeout
	if t.m.Def.Pace != nil {
		req.Share = t.m.Def.Pace.Share
	}
	req.Model, req.Purpose, req.Asker = cmp.Or(req.Model, t.m.Def.Model), cmp.Or(req.Purpose, purpose), t
	for _, e := range t.events {
		req.Events = append(req.Events, e.Type)
	}
	w.tokens = prompt + answer
	t.send(ask, w)
	return workflow.Answer{}, false
}

// allowance is what a turn may still ask of models.
type allowance struct {
	reserved int64 // tokens, for requests without an answer
	refused  bool  // a model was not asked, for a limit of the profile
}

// room is the most that a prompt takes, with extra that the model's file adds, and the most that its answer may have, of what
// custom_runtime_config.max_tokens leaves beside all that was used and what is reserved.
func (a *allowance) room(q *protocol.ModelRequest, extra int, limits *profile.Limits, end *agentfact.TurnEnded) (prompt, answer int64, err error) {
	if end.ModelCalls >= int64(limits.MaxModelCalls) {
		a.refused = true
		return 0, 0, protocol.Errorf(protocol.KindLimit, "more than %d model calls in one deliberation (custom_runtime_config.max_model_calls)", limits.MaxModelCalls)
	}
	left := limits.MaxTokens - end.TokensIn - end.TokensOut - a.reserved
	prompt = bound.Prompt(q) + int64(extra)
	if answer = bound.Answer(left-prompt, q.MaxTokens, int64(limits.MaxModelCalls)-end.ModelCalls); answer == 0 {
		a.refused = true
		return 0, 0, protocol.Errorf(protocol.KindLimit, "the prompt has up to %d tokens, and %d of %d are left for this deliberation (custom_runtime_config.max_tokens)", prompt, max(left, 0), limits.MaxTokens)
	}
	a.reserved += prompt + answer
	return prompt, answer, nil
}

// settle takes the answer to a request that had reserved tokens. A failure that may have
// been carried out, without a count, keeps them.
func (a *allowance) settle(reserved int64, answer *effect.Answered) {
	if kind := protocol.KindOf(answer.Err); answer.Model.Usage != (protocol.Usage{}) || kind != protocol.KindTimeout && kind != protocol.KindTransient {
		a.reserved -= reserved
	}
}

func (t *Turn) send(ask *effect.Ask, w waiting) {
	w.kind, w.number = ask.Kind, ask.Number
	t.waits = append(t.waits, w)
	t.asked = append(t.asked, ask)
}

// modelDraws and toolDraws separate the streams of chance of a turn.
const (
	modelDraws = 1
	toolDraws  = 2
	runDraws   = 3
	callDraws  = 4 // of calls to executors
	entryDraws = 5 // of entries of knowledge
	againDraws = 6 // of pauses before workflows are repeated
)

// askTool passes a call to the executor; true = it failed at once. A call with a
// wrong parameter is not passed on. number is that of the request, 0 = the next; q is the
// request of the node that calls, if one does.
func (t *Turn) askTool(entry *Tool, c *protocol.Call, number int, q *workflow.Request, w waiting) (protocol.CallResult, bool) {
	if t.tooMany(c) {
		return t.m.Def.tooManyCalls(), true
	}
	if err := t.toolsOver(c, w.run == nil); err != nil {
		return failed(err), true
	}
	params, err := t.bound(c, &entry.schema)
	if err != nil {
		return wrongParams(c, err), true
	}
	call := *c
	call.URIs = bind.References(c, &entry.schema, params)
	if params, err = entry.checked(params, len(call.URIs) > 0); err != nil {
		return wrongParams(c, err), true
	}
	call.Params = params
	if number == 0 {
		t.toolsAsked++
		number = t.toolsAsked
	}
	call.Contents = t.approved[number]
	ask := put(&t.wishes, effect.Ask{Kind: entry.Kind, Number: number, First: number, Wait: q.Wait, Timeout: entry.Timeout, Call: &call})
	if q.Timeout > 0 && (ask.Timeout == 0 || q.Timeout < ask.Timeout) {
		ask.Timeout = q.Timeout
	}
	if w.run != nil {
		ask.First = w.run.first(q, number)
	}
	ask.Model.Agent, ask.Model.Profile, ask.Model.Draw = t.m.ID.Instance, t.m.Def.Profile, t.draw.Sub(callDraws, uint64(ask.First))
	ask.Model.Now = t.wake.Now
	w.call = ask.Call
	t.send(ask, w)
	return protocol.CallResult{}, false
}

// answer notes an answer; false = nothing waits for it.
func (t *Turn) answer(a *effect.Answered) bool {
	i := slices.IndexFunc(t.waits, func(w waiting) bool { return w.kind == a.Kind && w.number == a.Number && w.came == nil })
	if i >= 0 {
		t.waits[i].came = a
	}
	return i >= 0
}

// takeNext hands the next answer that has come to the run or call that waits for it; false = there is none. On the
// virtual clock answers count in the order in which they were asked for, however fast they come: what the turn asks
// next, and what it leaves, depends on that order. A batch has an order of its own. Under a budget there, what the last
// answer made it ask leaves before the next one is taken, which may drop it: it is charged, however fast that one came.
func (t *Turn) takeNext() bool {
	if len(t.asked) > 0 && t.wake.Left != nil && !t.m.Def.Realtime && !t.wake.Recorded {
		return false
	}
	i := slices.IndexFunc(t.waits, func(w waiting) bool { return w.came != nil })
	if i < 0 || i > 0 && !t.m.Def.Realtime && !t.wake.Recorded && (t.batch == nil || t.waits[i].run != nil) {
		return false
	}
	w := t.waits[i]
	t.waits = slices.Delete(t.waits, i, i+1)
	a, took := w.came, w.came.Latency
	if t.m.Def.Realtime { // it has passed already; the shell enforces time-outs
		a.Latency = 0
	}
	if w.hook {
		t.hooksAnswered(a)
		return true
	}
	if w.then != nil {
		t.tokens.settle(w.tokens, a)
		t.noteModel(a)
		w.then(a)
		return true
	}
	if w.call == nil {
		t.tokens.settle(w.tokens, a)
		t.noteModel(a)
		if a.Err == nil && w.run.purpose == protocol.PurposeDeliberate {
			t.talk.Heard(a.Number, &a.Model)
		}
		if f := a.Model.Finish; f == protocol.FinishLength || f == protocol.FinishFiltered {
			t.cutBy = f
		}
		_ = w.run.run.Answer(w.request, workflow.Answer{Model: a.Model, Err: a.Err, InTime: t.m.Def.Realtime}) // the run is one of those that wait
		return true
	}
	before := len(t.out.Facts)
	r := t.noteCall(&w, a, took)
	if w.run == nil && t.batch != nil {
		t.batch.Note(w.at, t.out.Facts[before:]...)
		t.out.Facts = t.out.Facts[:before]
	}
	if w.leave != nil {
		w.leave(a)
		return true
	}
	if w.run == nil {
		t.outcomes.Keep(w.call, &r, a.Artifacts...)
		if q := &t.queue[w.at]; t.talk != nil {
			q.images, q.files = tool.Images(a.Artifacts), tool.Unnamed(r.Output, a.Artifacts)
		}
		r.Output = tool.View(r.Output, a.Artifacts)
		t.took(w.at, w.call, r, a.Latency)
		return true
	}
	t.recordOfNode(w.call, &r)
	_ = w.run.run.Answer(w.request, workflow.Answer{Result: r, Latency: took, InTime: t.m.Def.Realtime})
	return true
}

func (t *Turn) noteModel(a *effect.Answered) {
	t.out.Spend(len(a.Model.Text) + len(a.Model.Reasoning))
	t.end.TokensIn += a.Model.Usage.Input
	t.end.TokensOut += a.Model.Usage.Output
	f := put(&t.models, agentfact.AnswerOfModel(a))
	if len(a.Model.Calls) > 0 {
		f.Calls = t.out.Write(func(b []byte) []byte { return talk.AppendCalls(b, a.Model.Calls, f.Origin != nil) })
	}
	if a.Err != nil && !f.Cut() {
		t.end.ModelFailed++
	}
	t.out.Note(f)
	noteUnknown(a, &t.out)
}

// noteCall keeps an answer. took is its latency, also on the realtime clock.
func (t *Turn) noteCall(w *waiting, a *effect.Answered, took time.Duration) protocol.CallResult {
	f := agentfact.AnswerOfCall(a, took)
	if a.Output != nil {
		f.Output = t.out.Encode(a.Output)
	}
	t.out.Note(f)
	noteUnknown(a, &t.out)
	if w.leave == nil {
		t.spentOn(w, f)
	}
	return resultOf(w.call, protocol.CallOK, a.Output, a.Err)
}

func noteUnknown(a *effect.Answered, out *outbox.Box) {
	if protocol.KindOf(a.Err) == protocol.KindUnknownOutcome {
		out.Note(&agentfact.OutcomeUnknown{Effect: a.Kind, Request: int64(a.Number), Error: a.Err.Error()})
	}
}

// noteLost notes that nobody waits any more for the answer to a call that must not be
// repeated. The fact outlives an interruption: the next turn must not act as if nothing
// had happened.
func (t *Turn) noteLost(w *waiting) {
	if w.call == nil || w.leave != nil || !t.m.Def.tools[w.call.Tool].Once {
		return
	}
	t.lost = append(t.lost, &agentfact.OutcomeUnknown{Effect: w.kind, Request: int64(w.number), Error: w.call.Tool + ": the deliberation ended before the answer came; it may have been carried out"})
}

// abandon drops what an ended run, or the queue (nil), waits for. Calls of the
// queue fail with the reason.
func (t *Turn) abandon(run *activeRun, reason string) {
	for i := 0; i < len(t.waits); i++ {
		w := t.waits[i]
		if w.run != run {
			continue
		}
		t.waits = slices.Delete(t.waits, i, i+1)
		i--
		t.drop(&w)
		if w.hook || w.then != nil && w.call == nil {
			continue
		}
		t.noteLost(&w)
		if run == nil {
			t.took(w.at, w.call, failed(protocol.Errorf(protocol.KindCancelled, "%s: %s", w.call.Tool, reason)), 0)
		}
	}
	if run == nil {
		t.abandonHooks(reason)
	}
}

// drop gives up a request that budgets count. It does not leave any more if it has not left the turn.
func (t *Turn) drop(w *waiting) {
	number := w.number
	if effect.IsTool(w.kind) {
		number += budget.ToolNumbers
	} else if w.kind != effect.KindModel {
		return
	}
	n := len(t.asked)
	t.asked = slices.DeleteFunc(t.asked, func(e protocol.Effect) bool {
		q, ok := e.(*effect.Ask)
		return ok && q.Kind == w.kind && q.Number == w.number
	})
	if len(t.asked) == n {
		t.dropped = append(t.dropped, number)
	}
}

// noteLeft notes what the turn has taken of budgets without an answer; false = it has to wait for what is out: see [Wake.Left].
func (t *Turn) noteLeft() bool {
	if t.left || t.wake.Left == nil {
		return true
	}
	for i := range t.waits { // it is cancelled
		t.drop(&t.waits[i])
	}
	list, tools, waits := t.wake.Left(t.dropped)
	if t.left, t.ending = !waits, waits; waits {
		return false
	}
	for _, a := range list {
		t.noteModel(a)
	}
	if tools != (block.Spent{}) {
		t.out.Note(new(agentfact.CallsCharged(tools)))
	}
	return true
}
