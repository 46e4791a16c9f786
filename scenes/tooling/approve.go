package tooling

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/permit"
	"tavernsim/engine/secret"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/tools/approvals"
	"tavernsim/tools/toolreplay"
)

// Leave says who answers when a policy asks about a call. The zero value denies at once.
type Leave struct {
	// Answers are rules that answer; nil = there are none.
	Answers *permit.Judge
	// Door is asked what no rule answers; nil = nobody is there. Without it, and with
	// rules, what no rule answers is silence.
	Door approvals.Approver
	// Timeout is how long silence takes, of the scene's time; 0 = DefaultSilence.
	Timeout time.Duration
	Run     string // names the run in the ids of questions
	// Recorded are asked first: what was said in an earlier run. nil = nothing.
	Recorded *toolreplay.Answers
	mounts   Mounts // where references of calls lead: a person allows what they lead to when asked
}

// DefaultSilence is how long an answer is waited for.
const DefaultSilence = 5 * time.Minute

// Entry is the executor for the table of a scene.
func (l Leave) Entry() outside.Entry {
	l.Timeout = cmp.Or(l.Timeout, DefaultSilence)
	e := outside.Entry{Kind: effect.KindApproval, Executor: &ruled{l}, AtOnce: maxQuestions}
	if l.Door != nil {
		e.Executor = &asks{ruled{l}}
	}
	return e
}

// maxQuestions bounds the questions that are open at once in a scene; others wait.
const maxQuestions = 1000

// ruled answers by rules alone.
type ruled struct{ Leave }

// Name implements outside.Executor.
func (*ruled) Name() string { return "approvals" }

// MayRepeat implements outside.Executor.
func (*ruled) MayRepeat(*effect.Ask) bool { return true }

// Answer implements outside.Instant.
func (r *ruled) Answer(q *effect.Ask) effect.Answered {
	if a, ok := r.again(q); ok {
		return a
	}
	if r.Answers == nil {
		return said(permit.Leave{By: permit.ByNever})
	}
	if l, ok := r.rule(q); ok {
		return said(l)
	}
	a := said(permit.Leave{By: permit.BySilence})
	a.Latency = r.Timeout
	return a
}

// Do implements outside.Executor: on the realtime clock silence takes its time.
func (r *ruled) Do(ctx context.Context, q *effect.Ask) effect.Answered {
	a := r.Answer(q)
	t := time.NewTimer(a.Latency)
	defer t.Stop()
	select {
	case <-t.C:
		return a
	case <-ctx.Done():
		return effect.Answered{Err: context.Cause(ctx)}
	}
}

func said(l permit.Leave) effect.Answered { return effect.Answered{Output: l.Value()} }

// rule is what a rule answers; false = none fits.
func (r *ruled) rule(q *effect.Ask) (permit.Leave, bool) {
	if r.Answers == nil {
		return permit.Leave{}, false
	}
	v := r.Answers.Judge(&permit.Call{Tool: q.Call.Tool, Profile: q.Model.Profile, Agent: q.Model.Agent, Params: q.Call.Params})
	return permit.Leave{Yes: v.Do == permit.Allow, By: permit.ByFile, Reason: v.Reason}, v.Do != permit.Ask
}

// again is what was said about the same call in an earlier run.
func (r *ruled) again(q *effect.Ask) (effect.Answered, bool) {
	if r.Recorded == nil {
		return effect.Answered{}, false
	}
	e, ok := r.Recorded.Find(toolreplay.Question(effect.KindApproval, q.Call), placeOf(q))
	if !ok {
		return effect.Answered{}, false
	}
	return given(e), true
}

// asks asks somebody what no rule answers. It is no outside.Instant.
type asks struct{ by ruled }

// Name implements outside.Executor.
func (a *asks) Name() string { return a.by.Name() }

// MayRepeat implements outside.Executor.
func (*asks) MayRepeat(*effect.Ask) bool { return true }

// Do implements outside.Executor. The time that a person takes is not the scene's; that of
// silence is.
func (a *asks) Do(ctx context.Context, q *effect.Ask) effect.Answered {
	if x, ok := a.by.again(q); ok {
		return x
	}
	if l, ok := a.by.rule(q); ok {
		return said(l)
	}
	until, stop := context.WithTimeoutCause(ctx, a.by.Timeout, errSilence)
	defer stop()
	contents, err := a.by.mounts.contents(q)
	if err != nil {
		return said(permit.Leave{By: permit.ByFailure, Reason: err.Error()})
	}
	question := a.by.question(q)
	question.Contents = contents
	defer outside.AsksPerson(ctx)()
	v, err := a.by.Door.Ask(until, question)
	switch {
	case err == nil && v.Yes && len(v.Contents) > 0 && !maps.Equal(v.Contents, contents):
		return said(permit.Leave{By: permit.ByFailure, Reason: "what it refers to has changed since the question"})
	case err == nil:
		return said(permit.Leave{Yes: v.Yes, By: cmp.Or(v.By, permit.ByPerson), Reason: v.Reason, Contents: contents})
	case errors.Is(err, errSilence) || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		x := said(permit.Leave{By: permit.BySilence})
		x.Latency = a.by.Timeout
		return x
	}
	return effect.Answered{Err: protocol.Errorf(protocol.KindUnknown, "nobody could be asked: %w", err)}
}

var errSilence = errors.New("nobody answered in time")

// question is the one about a call; the same call of the same turn gives the same id.
func (r *ruled) question(q *effect.Ask) *approvals.Question {
	b, _ := json.Marshal([]any{r.Run, q.Model.Scene, q.Model.Agent, q.Model.Turn, q.First, q.Call.Tool, q.Call.Params}) // keys are sorted
	sum := sha256.Sum256(b)
	shown, _ := secret.Hide(q.Call.Params)
	params, _ := shown.(map[string]any)
	return &approvals.Question{
		ID: hex.EncodeToString(sum[:4]), Scene: q.Model.Scene, Agent: q.Model.Agent, Profile: q.Model.Profile, Tool: q.Call.Tool, Params: params,
		Rule: q.Verdict.Rule, Reason: q.Verdict.Reason, Until: time.Now().Add(r.Timeout).UTC().Truncate(time.Second),
	}
}
