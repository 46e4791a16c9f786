package scenes

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/budget"
	"tavernsim/engine/tooltask"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/spending"
	"tavernsim/scenes/outside"
)

// underBudget is what the shell of an agent keeps of a deliberation under a budget.
type underBudget struct {
	*spending.WakeBudget
	asked map[int]*held  // requests, by number
	told  []outside.Lost // of earlier deliberations of the turn, in its facts
	step  budget.Step    // what the shell does now, for the stage
}

// held is a request, and what budgets have to do with it.
type held struct {
	ask    *effect.Ask
	left   bool // it is the call of a tool, and granted
	bound  llm.Bound
	ledger string   // because of which another model answers; "" = none
	barred []string // endpoints that have no room for it

	granted bool           // it may leave
	sent    bool           // to the outside
	settled bool           // it has its answer
	took    []outside.Lost // by its answer
}

// wokenUnder begins a deliberation under a budget; nil = there is none.
func (a *agentShell) wokenUnder(b *spending.WakeBudget) {
	if b != nil {
		a.budget = &underBudget{WakeBudget: b, asked: map[int]*held{}}
	}
}

// noTool reports whether requests of a kind are neither to models nor calls of tools that cost
// something.
func noTool(kind string) bool {
	return kind == effect.KindApproval || kind == effect.KindHook || kind == effect.KindPerson
}

// hold keeps a request until the stage grants it; false = it may leave at once.
func (a *agentShell) hold(q *effect.Ask) bool {
	b := a.budget
	if b == nil {
		return false
	}
	switch {
	case q.Kind == effect.KindModel && b.Models:
	case q.Kind == effect.KindModel, noTool(q.Kind), !b.Tools:
		return false
	default:
		return a.holdTool(q)
	}
	q.Model.BudgetUsed = b.Used
	h := &held{ask: q, bound: a.outside.Bound(q), granted: !b.ByGrant}
	b.asked[q.Number] = h
	if b.ByGrant {
		a.askGrant(h)
	}
	return b.ByGrant
}

// holdTool keeps a call of a tool until the stage grants it; false = it may leave at once.
func (a *agentShell) holdTool(q *effect.Ask) bool {
	b := a.budget
	if !b.ByGrant {
		return false
	}
	number := budget.ToolNumbers + q.Number
	b.asked[number] = &held{ask: q}
	b.step.Asks = append(b.step.Asks, budget.Request{
		Agent: a.machine.ID.Ordinal, Number: number, Tool: true, Bound: budget.Amount{Calls: 1, Nano: a.CostOf(q.Call.Tool)},
		Paid: a.outside.Paid(a.machine.ID.Instance, a.machine.State.Turn+1, q),
	})
	return true
}

// grantedTool takes what becomes of a call: it leaves, or it fails.
func (a *agentShell) grantedTool(q *effect.Ask, refused *budget.Refusal) error {
	if refused != nil {
		q.Answer = effect.Answered{Kind: q.Kind, Number: q.Number, Err: protocol.Errorf(protocol.KindLimit, "%s", refused.Text)}
		return a.step(&q.Answer)
	}
	if h := a.budget.asked[budget.ToolNumbers+q.Number]; h != nil {
		h.left = true
	}
	x := a.send(q)
	if x == nil {
		return nil // the answer comes through the mailbox
	}
	a.settle(x)
	return a.step(x)
}

// settleTool notes what a call took that was granted.
func (a *agentShell) settleTool(x *effect.Answered) {
	b := a.budget
	h := b.asked[budget.ToolNumbers+x.Number]
	if h == nil {
		return
	}
	delete(b.asked, budget.ToolNumbers+x.Number)
	b.step.Done, b.step.Took = budget.ToolNumbers+x.Number, budget.Amount{}
	if x.Err == nil || x.Carried || tooltask.Costs(protocol.KindOf(x.Err)) {
		b.step.Took = budget.Amount{Calls: 1, Nano: a.CostOf(h.ask.Call.Tool), Micro: x.Latency.Microseconds()}
		if x.Output != nil {
			b.step.Took.Bytes = tool.SizeOf(protocol.Encode(x.Output), x.Artifacts)
		}
	}
}

// askGrant asks the stage for the grant of a request.
func (a *agentShell) askGrant(h *held) {
	r := outside.Request(a.machine.ID.Ordinal, h.ask.Number, &h.bound)
	r.Paid = a.outside.Paid(a.machine.ID.Instance, a.machine.State.Turn+1, h.ask)
	a.budget.step.Asks = append(a.budget.step.Asks, r)
}

// stepped tells the stage what the deliberation did with one message.
func (a *agentShell) stepped() {
	b := a.budget
	if b == nil || !b.ByGrant {
		return
	}
	in := &machines.TurnStep{Wave: a.wave, Step: b.step}
	in.Agent, in.Dropped = a.machine.ID.Ordinal, a.machine.Dropped()
	b.step = budget.Step{}
	env := carrying(protocol.KindStep, in)
	env.Source = a.machine.ID.Instance
	a.stage.Tell(env)
}

// granted takes what becomes of a request: it leaves, another model gets it, or it
// fails.
func (a *agentShell) granted(env *protocol.Envelope) error {
	g, err := carried[*budget.Grant](env)
	if err != nil || a.deliberation == nil || env.Wave != a.wave || a.budget == nil || a.budget.asked[g.Number] == nil {
		return err // the deliberation that asked has ended or failed
	}
	for _, n := range g.With {
		a.budget.asked[n].granted = true
	}
	h := a.budget.asked[g.Number]
	if g.Tool {
		return a.grantedTool(h.ask, g.Refused)
	}
	h.barred = g.Barred
	if g.Refused != nil {
		if a.outside.Refuse(h.ask, g.Refused) {
			if g.Refused.On.Do != budget.Degrade || h.ledger != "" && !strings.HasPrefix(h.ledger, budget.OfEndpoint) {
				a.asked(a.model.Name(), h.ask, &h.ask.Answer, 0)
				return a.step(&h.ask.Answer)
			}
			h.ask.Model.Model = g.Refused.On.Model
		}
		h.ledger = g.Refused.Ledger
		if h.bound = a.outside.Bound(h.ask); !h.bound.Script {
			a.askGrant(h)
			a.stepped()
			return nil
		}
	}
	x := a.send(h.ask)
	if x == nil {
		return nil // the answer comes through the mailbox
	}
	a.settle(x)
	return a.step(x)
}

// owes gives the turn that begins what it has to charge without an answer: what was out when a kill, or a failure of the
// agent, cut it off, and at its end what it has asked, then or now, and takes no answer of.
func (a *agentShell) owes(in *agent.Wake) {
	if a.budget == nil {
		return
	}
	a.budget.told = a.outside.Log.Lost(a.machine.ID.Instance, a.machine.State.Turn+1)
	in.Lost, in.Left = failures(a.budget.told), a.left
}

func failures(lost []outside.Lost) (list []*effect.Answered) {
	for i := range lost {
		list = append(list, lost[i].Answered())
	}
	return list
}

// left are the failures by which a turn charges at its end that of which it takes no answer: requests that it has
// dropped, and those that it made before it failed or was cut off, and has not made again. On the virtual clock it waits for the answers
// of those that it has dropped: what it takes does not depend on timing. On the realtime clock they count by their bounds.
func (a *agentShell) left(dropped []int) (failed []*effect.Answered, waits bool) {
	b, agent, turn := a.budget, a.machine.ID.Instance, a.machine.State.Turn+1
	list := a.outside.Log.Left(agent, turn, func(n int) bool { return b.asked[n] != nil && b.asked[n].sent })
	for _, l := range b.told {
		if i := slices.Index(list, l); i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
	}
	out := a.outside.Log.Out(agent, turn)
	for _, n := range dropped {
		h := b.asked[n]
		switch {
		case h == nil || !h.granted || h.bound.Script || h.bound.Saved:
		case a.Clock != agenda.Realtime && !h.settled:
			return nil, true
		case a.Clock != agenda.Realtime:
			list = append(list, h.took...)
		case !h.settled:
			list = append(list, ofRequest(out, n)...)
		}
	}
	slices.SortStableFunc(list, func(x, y outside.Lost) int { return cmp.Compare(x.Request, y.Request) })
	return failures(list), false
}

func ofRequest(list []outside.Lost, n int) []outside.Lost {
	i := slices.IndexFunc(list, func(l outside.Lost) bool { return l.Request == n })
	return list[max(i, 0) : i+1]
}

// sent notes that a request leaves.
func (a *agentShell) sent(q *effect.Ask) {
	if a.budget != nil && q.Kind == effect.KindModel {
		if h := a.budget.asked[q.Number]; h != nil {
			h.sent = true
		}
	}
}

// toolsOut is what the deliberation, which is cancelled, has spent on tools, with the calls that were granted and whose
// answers it has not taken: they may have been carried out. How long they take nobody knows.
func (a *agentShell) toolsOut() block.Spent {
	s := a.machine.Tools()
	if a.budget != nil {
		for _, h := range a.budget.asked {
			if h.left {
				s = s.Plus(block.Spent{Calls: 1, Cost: a.CostOf(h.ask.Call.Tool)})
			}
		}
	}
	return s
}

// settle notes in an answer what budgets have to do with it, and what it took.
func (a *agentShell) settle(x *effect.Answered) {
	if a.budget == nil || noTool(x.Kind) {
		return
	}
	if x.Kind != effect.KindModel {
		a.settleTool(x)
		return
	}
	h := a.budget.asked[x.Number]
	if h == nil || h.settled {
		return
	}
	h.settled = true
	if h.bound.Saved || h.ledger != "" {
		o := x.Model.Origin
		if o == nil {
			o = &protocol.ModelOrigin{}
			x.Model.Origin = o
		}
		if o.Budget == nil {
			o.Budget = &protocol.ModelBudget{}
		}
		o.Budget.Saved, o.Budget.Ledger = h.bound.Saved, h.ledger
	}
	a.budget.step.Done = x.Number
	a.budget.step.Took, _ = budget.Taken(&x.Model)
	if h.sent {
		h.took = outside.LostOf(a.machine.ID.Instance, x)
	}
	if o := x.Model.Origin; o != nil {
		a.budget.step.Of = o.Endpoint
	}
}

// boundOf is the bound of a request to an endpoint under a budget, else nil.
func (a *agentShell) boundOf(q *effect.Ask) *llm.Bound {
	if a.budget == nil || q.Kind != effect.KindModel {
		return nil
	}
	if h := a.budget.asked[q.Number]; h != nil && !h.bound.Script && !h.bound.Saved {
		return &h.bound
	}
	return nil
}

// barredFor are the endpoints whose budgets have no room for a request.
func (a *agentShell) barredFor(q *effect.Ask) []string {
	if a.budget != nil && q.Kind == effect.KindModel {
		if h := a.budget.asked[q.Number]; h != nil {
			return h.barred
		}
	}
	return nil
}

// resumes lets the budgets count what the open turn of an agent took, when that is begun anew, or is over.
func (s *scene) resumes(b *spending.Book, agent string) {
	b.Resumes(agent, func(over bool) {
		lost, kept := s.outside.Log.Open(agent, over)
		for _, l := range lost {
			b.Lost(agent, l.Endpoint, l.Took())
		}
		for _, p := range kept {
			b.Paid(agent, p.Request, p.Endpoint, p.Took)
		}
	})
}
