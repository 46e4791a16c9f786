package verify

import (
	"context"
	"sync"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/tooltask"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/tools/toolreplay"
)

// ToolAnswers adds what came of the calls of tools in a scene, of questions about calls and of hooks,
// in the order of the journal. Facts have the parameters of tasks only, so the deliberations
// are decided again for those of the others. A task without an end has a failure.
func ToolAnswers(ctx context.Context, made *setup.Scene, journal history.Journal, opt Options, to *toolreplay.Answers) error {
	a := answering{scene: made.ID, budget: made.ToolPrices() != nil, asked: map[requestAt]*toolreplay.Entry{}, codec: machines.NewCodec(), tasks: map[string]*toolreplay.Entry{}, to: to}
	var mu sync.Mutex // guards a.asked
	opt.Asked = func(name string, turn uint64, q *effect.Ask) {
		if q.Kind != setup.KindTool && q.Kind != effect.KindApproval && q.Kind != effect.KindHook {
			return
		}
		e := toolreplay.New(toolreplay.Place{Scene: made.ID, Agent: name, Turn: turn, Number: int64(q.Number)}, q.Kind, q.Call)
		mu.Lock()
		defer mu.Unlock()
		a.asked[requestAt{e.Place, q.Kind}] = e
	}
	r, _, err := Run(ctx, made, journal, opt)
	if err == nil && r.Difference != nil {
		err = protocol.Errorf(protocol.KindConflict, "scene %s: this version decides the run otherwise, so the calls of its tools are not known (simd replay --verify shows where); use the version that wrote it", made.ID)
	}
	if err != nil {
		return err
	}
	return journal.Scan(persistence.Query{From: journal.Begin().Last + 1, Kinds: []string{agentfact.FactCallAnswered, agentfact.FactHookAnswered, agentfact.FactTurnEnded, tooltask.FactOpened, tooltask.FactEnded, tooltask.FactUncharged}}, a.read)
}

type requestAt struct {
	toolreplay.Place
	kind string
}

// answering joins questions with their answers.
type answering struct {
	scene  string
	budget bool // of tools: then a task that was not carried out says so
	codec  *protocol.Codec
	asked  map[requestAt]*toolreplay.Entry
	turn   []*agentfact.CallAnswered // of the deliberation whose facts are being read; they stand together
	tasks  map[string]*toolreplay.Entry
	to     *toolreplay.Answers
}

func (a *answering) read(r protocol.Record) error {
	fact, err := a.codec.ReadFact(r.Kind, r.Data)
	if err != nil {
		return err
	}
	switch f := fact.(type) {
	case *agentfact.CallAnswered:
		a.turn = append(a.turn, f)
	case *agentfact.HookAnswered:
		a.turn = append(a.turn, &agentfact.CallAnswered{Kind: effect.KindHook, Request: f.Request, Output: f.Output, Error: f.Error, ErrorKind: f.ErrorKind})
	case *agentfact.TurnEnded:
		for _, x := range a.turn {
			a.answered(r.Actor, f.Turn, x)
		}
		a.turn = a.turn[:0]
	case *tooltask.Opened:
		return a.opened(&f.Task)
	case *tooltask.Ended:
		if e := a.tasks[f.ID]; e != nil {
			e.Output, e.Artifacts, e.Latency, e.Error, e.ErrorKind = kept(f.Output), f.Artifacts, protocol.Duration(f.Latency), f.Error, f.ErrorKind
			e.Hooks = kept(f.Hooks)
			e.Carried = a.budget && f.Error != "" && !tooltask.Costs(f.ErrorKind)
		}
	case *tooltask.Uncharged:
		if e := a.tasks[f.ID]; e != nil {
			e.Carried = false
		}
	}
	return nil
}

// kept is an output that outlives the reading of its fact.
func kept(raw protocol.Raw) protocol.Raw { return append(protocol.Raw(nil), raw...) }

func (a *answering) answered(name string, turn uint64, x *agentfact.CallAnswered) {
	e := a.asked[requestAt{toolreplay.Place{Scene: a.scene, Agent: name, Turn: turn, Number: x.Request}, x.Kind}]
	if e == nil {
		return // of a program that embeds simd, or of a turn that cannot be decided again
	}
	e.Output, e.Artifacts, e.Latency, e.Error, e.ErrorKind = kept(x.Output), x.Artifacts, protocol.Duration(x.Latency), x.Error, x.ErrorKind
	e.Carried, e.Hooks = x.Carried, kept(x.Hooks)
	a.to.Add(e)
}

// opened adds a task that has no end yet. On the virtual clock it takes as long as it took
// then, whatever the latency of its answer: one that was lost has none.
func (a *answering) opened(t *tooltask.Task) error {
	if t.Kind != setup.KindTool {
		return nil
	}
	v, err := t.Params.Value()
	if err != nil {
		return err
	}
	params, _ := v.(map[string]any)
	uris, _ := t.References()
	e := toolreplay.New(toolreplay.Place{Scene: a.scene, Agent: t.Agent, Turn: t.Turn, Number: t.Number}, t.Kind, &protocol.Call{Tool: t.Tool, Params: params, URIs: uris})
	e.Error, e.ErrorKind = "the task had not ended in "+a.to.From, protocol.KindNotFound
	if t.Due != 0 {
		e.Took = protocol.Duration(t.Due.Sub(t.Opened))
	}
	a.tasks[t.ID] = e
	a.to.Add(e)
	return nil
}
