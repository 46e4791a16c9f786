// Package answer carries out the calls in a text outside of a scene, like the calls in an answer
// of a model.
//
// [Run] reads the text in both grammars and lets the machine of an agent carry the calls out:
// their order, the references between steps, what stops a block, repetitions and requests
// are those of a deliberation.
//
// # Promises
//
//  1. Each call of the text has one [Step], in the order of the text.
//  2. Only the given tools can be called; the agent has no tools of
//     its own, no world and no model.
//  3. The package waits for asynchronous tools: there is no later turn.
//
// # Not here
//
// The execution of one call, and the reach of its tool (scenes/tooling). A single call given by
// its parameters is handled elsewhere (scenes/tooling/trial): it has no agent whose machine binds and
// refuses it, it reports all faults of its parameters at once, and the audit records each call of its
// workflow.
package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/tam/answer"
	"tavernsim/tam/bind"
	"tavernsim/tools"
)

// Options of a text.
type Options struct {
	Project *project.Project
	Mode    string                                          // in which the tools are carried out: see setup.Tools
	Only    string                                          // id of the one tool that may be called; "" = all of the project may
	Call    func(context.Context, *effect.Ask) tools.Result // carries a call out
	Failed  func(r *tools.Result)                           // may change what a failure says; nil = nobody does
}

// Step is a call of the text, and what came of it.
type Step struct {
	Block int    `json:"block"` // from 1
	Index int    `json:"step"`  // as the text numbers it
	Tool  string `json:"tool"`
	tools.Result
}

// NotRun is the status of a call that an earlier one of its block stopped.
const NotRun tools.Status = tools.Status(protocol.CallNotRun)

// Answer is what came of a text.
type Answer struct {
	Steps    []Step   `json:"steps"`
	Problems []string `json:"problems"` // what could not be read, and what does not run
}

// Run carries out the calls of a text. The error says that no call could be.
func Run(ctx context.Context, opt Options, text string) (*Answer, error) {
	read := answer.Read(text, protocol.FinishStop)
	out := &Answer{Steps: []Step{}, Problems: []string{}}
	if len(read.Calls) == 0 {
		out.Problems = append(out.Problems, read.Problems...)
		return out, protocol.Errorf(protocol.KindInvalid, "there is no call in the text: want a block of TAM (docs/formats/tam.md) or a root of ToolsXML (docs/formats/toolsxml.md)")
	}
	d, err := opt.definition()
	if err != nil {
		return nil, err
	}
	x := &turn{Options: opt, results: map[string]*tools.Result{}}
	facts, err := x.play(ctx, &agent.Machine{Def: d, ID: agent.Identity{Instance: caller}}, text)
	for _, c := range read.Calls {
		out.Steps = append(out.Steps, Step{Block: c.Block, Index: c.Index, Tool: c.Tool, Result: tools.Result{Status: NotRun}})
	}
	out.fill(x, facts)
	return out, err
}

// caller is the agent that makes the calls.
const caller = "cli"

// workflowID is that of the workflow that says the text.
const workflowID = "answer"

// definition is that of an agent which has the tools and nothing else.
func (o *Options) definition() (*agent.Definition, error) {
	plan, faults := workflow.Compile(&workflow.Definition{
		ID:               workflowID,
		InterfaceInputs:  map[string]workflow.Port{"text": {DataFlowType: workflow.String}},
		InterfaceOutputs: map[string]workflow.Port{agent.OutputResponse: {DataFlowType: workflow.String}},
		Nodes:            []workflow.Node{{ID: "in", Type: workflow.TypeGroupInput}, {ID: "out", Type: workflow.TypeGroupOutput}},
		Edges:            []workflow.Edge{{Source: "in", SourceHandle: "text", Target: "out", TargetHandle: agent.OutputResponse}},
	}, workflow.Options{Kinds: setup.NodeKinds()})
	if len(faults) > 0 {
		return nil, protocol.Errorf(protocol.KindInternal, "the workflow of a text: %v", faults[0])
	}
	d := &agent.Definition{
		Profile: caller, Name: caller, Limits: (*profile.RuntimeConfig)(nil).Limits(), Core: plan,
		Workflows: map[string]*workflow.Plan{}, External: setup.Tools(o.Project, nil, o.Mode),
	}
	d.Limits.MaxCalls, d.Limits.MaxToolTime, d.Limits.MaxToolBytes = maxCalls, math.MaxInt64, math.MaxInt64 // of a deliberation, which this is not; the caller can cancel
	only, _ := bind.FindTool(o.Only, o.Project.ToolIDs())
	for i := range d.External {
		e := &d.External[i]
		e.Async = false
		if o.Only != "" && only != e.Spec.Name {
			continue
		}
		d.Tools = append(d.Tools, e.Spec.Name)
		if w, ok := o.Project.Workflow(e.Skill); ok && e.Skill != "" {
			d.Workflows[e.Skill] = w.Plan
		}
	}
	if err := agent.CheckExternal(d.External); err != nil {
		return nil, err
	}
	d.Seal(func(id string) (string, string) { return id, "" })
	return d, nil
}

// maxCalls bounds the calls of a text, with those that its workflows make.
const maxCalls = 1000

// turn is the deliberation that makes the calls.
type turn struct {
	Options
	mu      sync.Mutex
	results map[string]*tools.Result // by the id of the call, whole
}

// play drives the deliberation to its end. Calls that may run beside each other do.
func (x *turn) play(ctx context.Context, m *agent.Machine, text string) ([]protocol.Fact, error) {
	d, err := m.Decide(&agent.Wake{Now: protocol.TimeOf(time.Now()), Draw: protocol.NewDraw(1), Inputs: map[string]any{"text": text}})
	answers := make(chan *effect.Answered, maxCalls) // nobody waits to be heard
	for out := 0; err == nil && len(d.Facts) == 0; {
		for _, e := range d.Effects {
			if q, ok := e.(*effect.Ask); ok {
				out++
				go func() { answers <- x.answer(ctx, q) }()
			}
		}
		if out == 0 {
			return nil, protocol.Errorf(protocol.KindInternal, "the deliberation waits for nothing and does not end")
		}
		a := <-answers // every call ends, soon after ctx does
		out--
		d, err = m.Decide(a)
	}
	return d.Facts, err
}

// answer answers a request of the deliberation.
func (x *turn) answer(ctx context.Context, q *effect.Ask) *effect.Answered {
	a := &effect.Answered{Kind: q.Kind, Number: q.Number}
	if q.Kind != setup.KindTool {
		a.Err = protocol.Errorf(protocol.KindUnknown, "a workflow asks a model, and a call outside of a scene has none; run a scene")
		return a
	}
	q.Model.Turn = 1
	r := x.call(ctx, q)
	if r.Error != nil && x.Failed != nil {
		x.Failed(&r)
	}
	x.mu.Lock()
	x.results[q.Call.ID] = &r
	x.mu.Unlock()
	a.Output, a.Artifacts, a.Latency, a.Err = r.Output, r.Artifacts, r.Meta.Latency.Std(), r.Err()
	return a
}

// call carries a call out, after the pause of a repetition.
func (x *turn) call(ctx context.Context, q *effect.Ask) tools.Result {
	if ctx.Err() != nil || q.Wait > 0 && !waited(ctx, q.Wait) {
		return tools.Fail(protocol.KindCancelled, context.Cause(ctx).Error())
	}
	return x.Call(ctx, q)
}

func waited(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fill puts what the facts say into the steps. The facts of calls that stand in the text come
// in the order of the text.
func (a *Answer) fill(x *turn, facts []protocol.Fact) {
	i := 0
	for _, f := range facts {
		switch f := f.(type) {
		case *agentfact.CallMade:
			switch {
			case f.Tool == agent.NotUnderstood:
				a.Problems = append(a.Problems, f.Error)
			case f.Origin != protocol.OriginWorkflow && i < len(a.Steps):
				a.Steps[i].take(x, f)
				i++
			}
		case *agentfact.TurnEnded:
			if f.Error != "" {
				a.Problems = append(a.Problems, f.Error)
			}
		}
	}
}

// take fills a step by the fact of its call.
func (s *Step) take(x *turn, f *agentfact.CallMade) {
	s.Tool = f.Tool
	if r := x.results[f.ID]; r != nil {
		s.Result = *r
		return
	}
	s.Result = tools.Result{Status: tools.Status(f.Status), Meta: tools.Meta{Tool: f.Tool}}
	if out, err := f.Output.Value(); err == nil {
		s.Output = out
	}
	switch known := x.has(f.Tool); {
	case f.Status == protocol.CallDenied && strings.HasPrefix(f.Error, "skill "): // it is a workflow, in which a call was
		s.fail(protocol.KindDenied, f.Error)
	case f.Status == protocol.CallFailed && strings.HasPrefix(f.Error, "skill "):
		s.fail(protocol.KindUnknown, f.Error)
	case f.Status == protocol.CallFailed && strings.HasPrefix(f.Error, f.Tool+": the output "): // of a workflow
		s.fail(tools.KindBadOutput, f.Error)
	case f.Status == protocol.CallDenied && known:
		s.fail(protocol.KindDenied, "only "+x.Only+" may be called, and this calls "+f.Tool)
	case f.Status == protocol.CallDenied:
		s.fail(protocol.KindNotFound, "the tool "+f.Tool+" is no tool of the project: only an agent has it; run a scene")
	case f.Status == protocol.CallFailed && !known:
		s.fail(protocol.KindNotFound, f.Error)
	case f.Status == protocol.CallFailed:
		s.fail(protocol.KindInvalid, f.Error) // nothing was carried out
	}
}

func (x *turn) has(tool string) bool {
	id, _ := bind.FindTool(tool, x.Project.ToolIDs())
	return id != ""
}

func (s *Step) fail(kind protocol.ErrorKind, message string) {
	r := tools.Fail(kind, message)
	s.Status, s.Error = r.Status, r.Error
}

// String says what came of each call in words.
func (a *Answer) String() string {
	var b strings.Builder
	for i := range a.Steps {
		s := &a.Steps[i]
		fmt.Fprintf(&b, "%d.%d %s: %s\n", s.Block, s.Index, s.Tool, s.Status)
		text, isText := s.Output.(string)
		switch {
		case s.Error != nil:
			text = s.Err().Error()
		case !isText && s.Output != nil:
			indented, _ := json.MarshalIndent(s.Output, "", "  ") // it is a value
			text = string(indented)
		}
		if text != "" {
			b.WriteString("  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n")
		}
	}
	return b.String()
}
