package agent

import (
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/record"
	"tavernsim/engine/permit"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// judged reports whether the policy has a say about a call.
func (t *Turn) judged(c *protocol.Call, refused *protocol.Error, attempt int) bool {
	return t.m.Def.Policy != nil && refused == nil && attempt <= 1 && !t.tooMany(c)
}

// of is whose call it is: a call of the queue, or of a run.
type of struct {
	run    *activeRun // nil = of the queue
	at     int        // of the queue
	number int        // of its request, 0 = the next
}

// permitted continues a call: with the refusal, or nil; with the number of its request, 0 =
// the next; and with how long the call waited for an approver in vain.
type permitted func(no *protocol.Error, number int, waited time.Duration)

// permit judges a call of a tool or skill of the inventories. then is called at once, or
// after an approver has answered. A call with wrong parameters is not judged: it fails.
func (t *Turn) permit(entry *Tool, skill string, c *protocol.Call, o of, then permitted) {
	q := permit.Call{Tool: entry.id(skill), Own: true, Profile: t.m.Def.Profile, Agent: t.m.ID.Instance}
	if entry != nil {
		q.Own = entry.Kind == "" && entry.Skill == ""
	}
	params, err := t.tried(c, t.m.Def.schema(entry, skill))
	if err == nil && entry != nil {
		params, err = entry.checked(params, len(c.URIs) > 0)
	}
	if q.Params = params; err != nil {
		then(nil, o.number, 0)
		return
	}
	if entry != nil {
		q.Hidden = bind.Hidden(bind.References(c, &entry.schema, params), &entry.schema)
	}
	switch v := t.m.Def.Policy.Judge(&q); v.Do {
	case permit.Allow:
		if v.Rule != "" {
			t.judge(c.ID, q.Tool, o, v, permit.Leave{Yes: true, By: permit.ByPolicy, Reason: v.Reason})
		}
		then(nil, o.number, 0)
	case permit.Ask:
		t.askLeave(c, &q, o, v, then)
	default:
		l := permit.Leave{By: permit.ByPolicy, Reason: v.Reason}
		t.judge(c.ID, q.Tool, o, v, l)
		then(permit.Denial(q.Tool, v, l), o.number, 0)
	}
}

// askLeave asks for leave. The turn waits for the answer, as for that of a tool. Question
// and call have the same number.
func (t *Turn) askLeave(c *protocol.Call, q *permit.Call, o of, v permit.Verdict, then permitted) {
	if o.number == 0 {
		t.toolsAsked++
		o.number = t.toolsAsked
	}
	asked := &agentfact.CallAsked{ID: c.ID, Tool: q.Tool, Rule: v.Rule, Reason: v.Reason, Request: int64(o.number)}
	if len(c.Params) > 0 {
		asked.Params = record.Value(q.Params, &t.out)
	}
	t.noteOf(o, asked)
	call := *c
	call.Tool, call.Params = q.Tool, q.Params
	wish := put(&t.wishes, effect.Ask{Kind: effect.KindApproval, Number: o.number, First: o.number, Timeout: maxQuestion, Call: &call, Verdict: &v})
	wish.Model.Agent, wish.Model.Profile, wish.Model.Draw = t.m.ID.Instance, t.m.Def.Profile, t.draw.Sub(callDraws, uint64(o.number))
	t.send(wish, waiting{run: o.run, at: o.at, call: &call, leave: func(a *effect.Answered) {
		l := permit.ReadLeave(a.Output, a.Err)
		t.judge(call.ID, call.Tool, o, v, l)
		if l.Yes {
			if len(l.Contents) > 0 {
				t.approved = map[int]map[string]string{o.number: l.Contents}
			}
			then(nil, o.number, 0)
			return
		}
		then(permit.Denial(call.Tool, v, l), o.number, a.Latency)
	}})
}

// maxQuestion bounds the wait for an approver; the executor has a deadline of its own.
const maxQuestion = 24 * time.Hour

// judge keeps what came of a call by the policy.
func (t *Turn) judge(id, tool string, o of, v permit.Verdict, l permit.Leave) {
	if t.out.Spend(outbox.EntryBytes) {
		t.noteOf(o, &agentfact.CallJudged{ID: id, Tool: tool, Rule: v.Rule, Allowed: l.Yes, By: l.By, Reason: l.Reason})
	}
}

// noteOf keeps a fact of a call: of a batch with the call.
func (t *Turn) noteOf(o of, f protocol.Fact) {
	if o.run == nil && t.batch != nil {
		t.batch.Note(o.at, f)
		return
	}
	t.out.Note(f)
}

// judgedFirst carries out a call of a node when the policy has judged it.
func (r *activeRun) judgedFirst(entry *Tool, skill string, call protocol.Call, q *workflow.Request) (now workflow.Answer, answered bool) {
	waits, kept := false, *q
	r.turn.permit(entry, skill, &call, of{run: r}, func(no *protocol.Error, number int, waited time.Duration) {
		answer, done := r.act(entry, skill, call, no, number, &kept)
		answer.Latency += waited
		switch {
		case !waits:
			now, answered = answer, done
		case done:
			_ = r.run.Answer(kept.ID, answer) // refused when the run was cancelled meanwhile
		}
	})
	waits = true
	return now, answered
}
