// Package interview asks an agent of a run a question, at the newest or at a past moment,
// also while another process runs it.
//
// The interview folds a copy of the agent's machine at the end of a wave, with
// the views of the services at that time. The copy hears the event [TypeQuestion] and deliberates once, as
// it would in the next wave. It may ask only models.
//
// # Promises
//
//  1. The run does not change: no fact, no digest, no log of effects, no budget of the scene.
//     The decisions of the deliberation are dropped; the answer says what they would have been.
//  2. Only models are asked: calls that leave the process, and questions to people and to
//     hooks of plugins, fail, and the copy of the agent is told so.
//  3. Every interview that reached a model is a line of [File] in the run directory, with model,
//     tokens and cost. A line is complete, except that a kill may leave half of the last one.
//
// # Not here
//
// Deciding (engine/agent), folding (scenes/history), the daily budgets of endpoints, which
// count interviews like every request (llm/ledger).
package interview

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/bus"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir/parts"
	"tavernsim/scenes/view/inspect"
)

// TypeQuestion is the event by which an agent hears the question.
const TypeQuestion = "interview.question"

// File has the interviews of a run, in its directory, a line each.
const File = parts.Interviews

// Bounds, in bytes.
const (
	MaxQuestion = 64 << 10
	maxFile     = 256 << 20
)

// Question is what is asked, of whom and when.
type Question struct {
	Agent string
	Text  string
	By    string
	Wave  uint64 // at whose end; 0 = the newest
}

// Answer is an interview, a line of [File].
type Answer struct {
	Asked    time.Time `json:"asked"` // by the clock of the wall
	Scene    string    `json:"scene"`
	Agent    string    `json:"agent"`
	Wave     uint64    `json:"wave"` // at whose end
	At       string    `json:"at"`
	By       string    `json:"by,omitempty"`
	Question string    `json:"question"`
	Answer   string    `json:"answer"`             // what it said; without that what its model wrote
	Calls    []Call    `json:"calls"`              // what it would have done
	Models   []Model   `json:"models"`             // who was asked
	Outcome  string    `json:"outcome"`            // of the deliberation
	Error    string    `json:"error,omitempty"`    // why it failed
	Cost     int64     `json:"cost_nano"`          // of all answers whose price is known, in nano-dollars
	Unpriced bool      `json:"unpriced,omitempty"` // the price of one is not known
}

// Call is one that the agent made.
type Call struct {
	Tool   string `json:"tool"`
	Params any    `json:"params,omitempty"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// Model is one answer of a model.
type Model struct {
	Model  string `json:"model"`
	Input  int64  `json:"input_tokens"`
	Output int64  `json:"output_tokens"`
	Error  string `json:"error,omitempty"`
}

// Run asks, and keeps the answer beside the run. model is the provider of the scene. With an error
// there is an answer if a model has answered: nobody pays twice for it.
func Run(ctx context.Context, s *inspect.Scene, model llm.Provider, q Question) (*Answer, error) {
	if n := len(q.Text); strings.TrimSpace(q.Text) == "" || n > MaxQuestion {
		return nil, protocol.Errorf(protocol.KindInvalid, "the question is empty or has more than %d bytes (%d): ask something", MaxQuestion, n)
	}
	x, err := sandboxed(s, &q)
	if err != nil {
		return nil, err
	}
	a := &Answer{
		Asked: time.Now().UTC(), Scene: s.ID, Agent: q.Agent, Wave: x.wave, At: x.at.String(), By: q.By, Question: q.Text,
		Calls: []Call{}, Models: []Model{},
	}
	f, err := openFile(s.Dir())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x.model = model
	d, failed := x.deliberate(ctx, &q)
	if err := errors.Join(failed, a.fill(d)); len(a.Models) == 0 && err != nil {
		return nil, err
	} else if err != nil {
		a.Error = err.Error()
	}
	return a, errors.Join(failed, a.keep(f))
}

// sandbox is a copy of an agent.
type sandbox struct {
	machine *agent.Machine
	wake    func() *agent.Wake
	model   llm.Provider
	scene   string
	wave    uint64
	at      protocol.Time
}

func sandboxed(s *inspect.Scene, q *Question) (*sandbox, error) {
	cut := ""
	if q.Wave != 0 {
		cut = "wave:" + strconv.FormatUint(q.Wave, 10)
	}
	wave, err := s.Cut(cut)
	if err != nil {
		return nil, err
	}
	state, o, seed, err := s.AgentAt(q.Agent, wave)
	if err != nil {
		return nil, err
	}
	made, err := s.Made()
	if err != nil {
		return nil, err
	}
	if state.Agenda.Away(o) {
		return nil, protocol.Errorf(protocol.KindNotFound, "agent %s is not in the scene at wave %d", q.Agent, wave.Number)
	}
	m, at := state.Agents[o], state.Agenda.Now
	return &sandbox{machine: m, scene: s.ID, wave: wave.Number, at: at, wake: func() *agent.Wake {
		wake := machines.Wake(made, m, state.Shown(), wave.Number+1, at, seed, "")
		return &wake
	}}, nil
}

// deliberate lets the agent hear the question and gives it answers until its turn ends.
func (x *sandbox) deliberate(ctx context.Context, q *Question) (protocol.Decision, error) {
	e := &protocol.Envelope{
		EventHeader: protocol.EventHeader{ID: "interview", Type: TypeQuestion, Source: "$interview", Time: x.at, Priority: protocol.Critical, Targets: []string{q.Agent}},
		Kind:        protocol.KindEvent, Scene: x.scene, Wave: x.wave,
		Body: protocol.NewBody(protocol.Encode(map[string]any{"question": q.Text, "by": q.By})),
	}
	x.machine.Hear(e)
	d, err := x.machine.Decide(x.wake())
	for open := []*effect.Ask(nil); err == nil && len(d.Facts) == 0; {
		for _, w := range d.Effects {
			if ask, ok := w.(*effect.Ask); ok {
				open = append(open, ask)
			}
		}
		if len(open) == 0 {
			return d, protocol.Errorf(protocol.KindInternal, "agent %s waits for nothing, and its deliberation does not end", q.Agent)
		}
		if ctx.Err() != nil {
			d, _ = x.machine.Decide(&agent.Cancel{Reason: "the interview was given up"}) // whose facts say what models answered
			return d, protocol.Errorf(protocol.KindTimeout, "agent %s has not answered: %w", q.Agent, context.Cause(ctx))
		}
		next := open[0]
		open = open[1:]
		d, err = x.machine.Decide(x.answer(ctx, next))
	}
	return d, err
}

// answer lets a model answer, and nobody else.
func (x *sandbox) answer(ctx context.Context, q *effect.Ask) *effect.Answered {
	a := &effect.Answered{Kind: q.Kind, Number: q.Number}
	if q.Kind != effect.KindModel {
		a.Err = protocol.Errorf(protocol.KindDenied, "this is an interview: nothing is carried out")
		return a
	}
	q.Model.Scene, q.Model.Turn, q.Model.Number = x.scene, x.machine.State.Turn+1, int64(q.Number)
	if q.Timeout > 0 {
		within, cancel := context.WithTimeout(ctx, q.Timeout)
		defer cancel()
		ctx = within
	}
	a.Model, a.Err = x.model.Complete(ctx, &q.Model, nil)
	return a
}

// fill reads what the deliberation decided.
func (a *Answer) fill(d protocol.Decision) error {
	wrote := ""
	for _, f := range d.Facts {
		switch f := f.(type) {
		case *agentfact.ModelAnswered:
			m := Model{Model: f.Model, Input: f.Input, Output: f.Output, Error: f.Error}
			if o := f.Origin; o != nil {
				a.Cost += o.Cost
				a.Unpriced = a.Unpriced || !o.Priced && f.Error == ""
			}
			if f.Text != "" {
				wrote = f.Text
			}
			a.Models = append(a.Models, m)
		case *agentfact.CallMade:
			params, err := f.Params.Value()
			if err != nil {
				return err
			}
			a.Calls = append(a.Calls, Call{f.Tool, params, string(f.Status), f.Error})
		case *agentfact.TurnEnded:
			a.Outcome, a.Error = string(f.Outcome), f.Error
		}
	}
	var said []string
	for i := range d.Requests {
		if text := saying(&d.Requests[i]); text != "" {
			said = append(said, text)
		}
	}
	a.Answer = strings.Join(said, "\n")
	if a.Answer == "" {
		a.Answer = wrote
	}
	return nil
}

// saying is what an event says; "" = it is no speech.
func saying(r *protocol.Sequenced) string {
	if r.To != bus.Service {
		return ""
	}
	d, err := protocol.ReadDraft(r.Data)
	if err != nil || d.Type != agentfact.EventSaid {
		return ""
	}
	v, _ := d.Body.Value()
	m, _ := v.(map[string]any)
	text, _ := m["text"].(string)
	return text
}

// openFile opens the file of a run, which has room. What nobody can keep is not asked.
func openFile(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > maxFile {
		err = protocol.Errorf(protocol.KindLimit, "%s has %d bytes; move it away, and the next interview begins another", File, info.Size())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// keep appends the interview to the file of the run, in one piece. Several processes may. Half of a line
// that a kill left ends before it.
func (a *Answer) keep(f *os.File) error {
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	info, err := f.Stat()
	if err != nil {
		return err
	}
	last := make([]byte, 1)
	if info.Size() > 0 {
		if _, err := f.ReadAt(last, info.Size()-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	return f.Sync()
}
