// Package asking carries out questions to people that deliberations wait for (seed
// 004 §3.7, docs/formats/panel.md): people answer at the desk of the run, or the panel has an answer.
//
// # Promises
//
//  1. A reply counts if it fits the schema of its question and its author may answer.
//  2. Without a reply the question ends at the time-out, and takes that time on the virtual clock; a reply takes none.
//  3. If no person can be asked, the panel answers at once, or the call fails.
package asking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/person"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/panel"
	"tavernsim/engine/tooltask"
	"tavernsim/llm/gate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/replies"
	"tavernsim/scenes/outside"
)

// most bounds the questions of a scene for whose answers deliberations wait at once; others wait
// for them.
const most = 1000

// Desk shows questions to people.
type Desk interface {
	// Ask shows a question, and gives the first reply that fits. It returns soon after ctx ends,
	// with an error.
	Ask(ctx context.Context, q *panel.Asked, fits func(*panel.Reply) error) (*panel.Reply, error)
}

// Asks is the executor where people can be asked. Several goroutines use it.
type Asks struct {
	Scene *setup.Scene
	Desk  Desk // nil = nobody shows questions
	// Open notes a question that is open, until done is called.
	Open func(*panel.Asked) (done func())
}

// Entry is the executor for the table of a scene.
func (a *Asks) Entry() outside.Entry {
	e := outside.Entry{Kind: effect.KindPerson, Executor: &alone{a}, AtOnce: most}
	if a.Scene.Interactive {
		e.Executor = a
	}
	return e
}

// Name implements outside.Executor.
func (*Asks) Name() string { return "people" }

// MayRepeat implements outside.Executor.
func (*Asks) MayRepeat(*effect.Ask) bool { return true }

// Gate implements outside.Tools.
func (*Asks) Gate(*effect.Ask) *gate.Gate { return nil }

// Do implements outside.Executor. The time that a person takes is not the scene's on the virtual
// clock; that of silence is.
func (a *Asks) Do(ctx context.Context, q *effect.Ask) effect.Answered {
	asked, err := a.asked(q)
	if err != nil {
		return effect.Answered{Err: err}
	}
	begun := time.Now()
	r, err := a.ask(ctx, asked)
	x := effect.Answered{Err: err}
	switch {
	case a.Scene.Clock == agenda.Realtime:
		x.Latency = time.Since(begun)
	case protocol.KindOf(err) == protocol.KindTimeout:
		x.Latency = asked.Timeout.Std()
	}
	if err == nil {
		x.Output = answerBy(r.Value, r.By)
	}
	return x
}

func answerBy(value any, by string) any { return map[string]any{"value": value, "by": by} }

var errSilence = errors.New("nobody answered in time")

// ask waits for a reply.
func (a *Asks) ask(ctx context.Context, asked *panel.Asked) (*panel.Reply, error) {
	if a.Desk == nil {
		return nil, protocol.Errorf(protocol.KindUnknown, "nobody shows the questions of this run to people (Options.Desk)")
	}
	until, stop := context.WithTimeoutCause(ctx, asked.Timeout.Std(), errSilence)
	defer stop()
	defer a.Open(asked)()
	defer outside.AsksPerson(ctx)()
	r, err := a.Desk.Ask(until, asked, func(r *panel.Reply) error { return replies.Fits(asked, r) })
	switch {
	case err == nil && r.Cancel:
		return nil, protocol.Errorf(protocol.KindCancelled, "cancelled by %s", protocol.Short(r.By, 80))
	case err == nil:
		return r, nil
	case ctx.Err() == nil && until.Err() != nil:
		return nil, protocol.Errorf(protocol.KindTimeout, "nobody answered within %s", asked.Timeout.Std())
	}
	return nil, protocol.Errorf(protocol.KindUnknown, "nobody could be asked: %w", err)
}

// asked is the question of a call.
func (a *Asks) asked(q *effect.Ask) (*panel.Asked, error) {
	p := tool.Params(q.Call.Params)
	question, timeout, err := a.question(q)
	if err != nil {
		return nil, err
	}
	if _, given := p["timeout_seconds"]; !given && q.Timeout < person.MaxTimeout {
		timeout = q.Timeout // of the node, or of the step
	}
	asked := &panel.Asked{
		ID: fmt.Sprintf("%s/%d.q%d", q.Model.Agent, q.Model.Turn, q.First), Scene: a.Scene.ID, Agent: q.Model.Agent, Panel: question.Panel, Action: question.Action, To: p.Text("to"),
		Wait: panel.WaitTurn, Payload: question.Payload, Schema: question.Schema,
		Asked: panel.Time(q.Model.Now), Timeout: protocol.Duration(min(timeout, q.Timeout)),
	}
	a.Scene.Describe(asked)
	return asked, nil
}

func (a *Asks) question(q *effect.Ask) (panel.Question, time.Duration, error) {
	complete, _ := a.Scene.Asking()
	return person.Question(tool.Params(q.Call.Params), complete)
}

// alone answers where nobody can be asked.
type alone struct{ *Asks }

// Answer implements outside.Instant.
func (a *alone) Answer(q *effect.Ask) effect.Answered {
	question, _, err := a.question(q)
	if err != nil {
		return effect.Answered{Err: err}
	}
	return effect.Answered{Output: answerBy(question.Headless.Value, tooltask.ByHeadless)}
}

// Do implements outside.Executor.
func (a *alone) Do(_ context.Context, q *effect.Ask) effect.Answered { return a.Answer(q) }
