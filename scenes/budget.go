package scenes

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/spending"
	"tavernsim/scenes/outside"
)

// underBudget is what the shell of an agent keeps of a deliberation under a budget.
type underBudget struct {
	*spending.WakeBudget
	asked map[int]*held   // requests, by number
	told  []outside.Lost  // of earlier deliberations of the turn, in its facts
	step  budget.Step     // what the shell does now, for the stage
	out   *sync.WaitGroup // virtual: its requests that are not answered; nil = there were none
}

// held is a request, and what budgets have to do with it.
type held struct {
	ask    *effect.Ask
	bound  llm.Bound // of the call of a tool: its price
	ledger string    // because of which another model answers; "" = none
	barred []string  // endpoints that have no room for it

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

// of is the request of a kind with a number; nil = budgets have nothing to do with it.
func (b *underBudget) of(kind string, number int) *held {
	switch {
	case b == nil:
		return nil
	case effect.IsTool(kind):
		number += budget.ToolNumbers
	case kind != effect.KindModel:
		return nil
	}
	return b.asked[number]
}

// hold keeps a request until the stage grants it; false = it may leave at once.
func (a *agentShell) hold(q *effect.Ask) bool {
	b, number := a.budget, q.Number
	if b == nil {
		return false
	}
	h := &held{ask: q}
	switch {
	case q.Kind == effect.KindModel && b.Models:
		q.Model.BudgetUsed = b.Used
		h.bound = a.outside.Bound(q)
	case effect.IsTool(q.Kind) && b.Tools:
		h.bound, number = llm.Bound{Cost: a.CostOf(q.Call.Tool), Priced: true}, budget.ToolNumbers+number
	default:
		return false
	}
	h.granted, b.asked[number] = !b.ByGrant, h
	if b.ByGrant {
		a.askGrant(h)
	}
	return b.ByGrant
}

// settleTool notes what a call took that was granted.
func (a *agentShell) settleTool(h *held, x *effect.Answered) {
	s := &a.budget.step
	s.Done, s.Took = budget.ToolNumbers+x.Number, budget.Amount{}
	took := outside.LostOf(a.machine.ID.Instance, x, h.bound.Cost)
	for i := range took {
		s.Took = took[i].Took()
	}
	if h.sent {
		h.took = took
	}
}

// askGrant asks the stage for the grant of a request.
func (a *agentShell) askGrant(h *held) {
	r := outside.Request(a.machine.ID.Ordinal, h.ask.Number, &h.bound)
	if r.Tool = effect.IsTool(h.ask.Kind); r.Tool {
		r.Number += budget.ToolNumbers
	}
	r.Paid = !h.bound.Recorded && a.outside.Paid(a.machine.ID.Instance, a.machine.State.Turn+1, h.ask) // nobody was paid for what is recorded
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
	if g.Tool && g.Refused != nil {
		h.ask.Answer = effect.Answered{Kind: h.ask.Kind, Number: h.ask.Number, Err: protocol.Errorf(protocol.KindLimit, "%s", g.Refused.Text)}
		return a.step(&h.ask.Answer)
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
	told := a.outside.Log.Lost(a.machine.ID.Instance, a.machine.State.Turn+1)
	a.budget.told = slices.DeleteFunc(told, func(l outside.Lost) bool { return l.Tool() }) // calls of tools are charged at its end
	in.Lost, in.Left = failures(a.budget.told), a.left
}

func failures(lost []outside.Lost) (list []*effect.Answered) {
	for i := range lost {
		list = append(list, lost[i].Answered())
	}
	return list
}

// left are the failures by which a turn charges at its end that of which it takes no answer, and what such calls of tools took: requests that it has
// dropped, and those that it made before it failed or was cut off, and has not made again. On the virtual clock it waits for the answers
// of those that it has dropped: what it takes does not depend on timing. On the realtime clock they count by what they took or, without an answer, by their bounds.
func (a *agentShell) left(dropped []int) (failed []*effect.Answered, calls block.Spent, waits bool) {
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
			return nil, block.Spent{}, true
		case a.Clock != agenda.Realtime:
			list = append(list, h.took...)
		case !h.settled:
			list = append(list, ofRequest(out, n)...)
		}
	}
	list = slices.DeleteFunc(list, func(l outside.Lost) bool {
		if l.Tool() {
			t := l.Took()
			calls = calls.Plus(block.Spent{Calls: t.Calls, Time: time.Duration(t.Micro) * time.Microsecond, Bytes: t.Bytes, Cost: t.Nano})
		}
		return l.Tool()
	})
	slices.SortStableFunc(list, func(x, y outside.Lost) int { return cmp.Compare(x.Request, y.Request) })
	return failures(list), calls, false
}

func ofRequest(list []outside.Lost, n int) []outside.Lost {
	i := slices.IndexFunc(list, func(l outside.Lost) bool { return l.Request == n })
	return list[max(i, 0) : i+1]
}

// sent notes that a request leaves.
func (a *agentShell) sent(q *effect.Ask) {
	if h := a.budget.of(q.Kind, q.Number); h != nil {
		h.sent = true
	}
}

// counted counts a request under a budget on the virtual clock as out until it is answered: should the agent fail, the stage hears
// of that afterwards, so that what the turn took does not depend on how fast it is answered. The wave waits for that anyway.
func (a *agentShell) counted(tell func(*effect.Answered)) func(*effect.Answered) {
	out := a.budget.out
	if out == nil {
		out = new(sync.WaitGroup)
		a.budget.out = out
		a.out.Store(a.machine.ID.Instance, out)
	}
	out.Add(1)
	return func(x *effect.Answered) {
		tell(x)
		out.Done()
	}
}

// settle notes in an answer what budgets have to do with it, and what it took.
func (a *agentShell) settle(x *effect.Answered) {
	h := a.budget.of(x.Kind, x.Number)
	if h == nil || h.settled {
		return
	}
	if h.settled = true; x.Kind != effect.KindModel {
		a.settleTool(h, x)
		return
	}
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
		h.took = outside.LostOf(a.machine.ID.Instance, x, 0)
	}
	if o := x.Model.Origin; o != nil {
		a.budget.step.Of = o.Endpoint
	}
}

// boundOf is the bound of a request under a budget that somebody may charge for, else nil.
func (a *agentShell) boundOf(q *effect.Ask) *llm.Bound {
	if h := a.budget.of(q.Kind, q.Number); h != nil && !h.bound.Script && !h.bound.Saved && !h.bound.Recorded {
		return &h.bound
	}
	return nil
}

// barredFor are the endpoints whose budgets have no room for a request.
func (a *agentShell) barredFor(q *effect.Ask) []string {
	if h := a.budget.of(q.Kind, q.Number); h != nil {
		return h.barred
	}
	return nil
}

// resumes lets the budgets count what the open turn of an agent took, when that is begun anew, or is over.
func (s *scene) resumes(b *spending.Book, agent string) {
	b.Resumes(agent, func(over bool) {
		lost, kept := s.outside.Log.Open(agent, over)
		for _, l := range lost {
			b.Lost(agent, l.Request, l.Endpoint, l.Took())
		}
		for _, p := range kept {
			b.Paid(agent, p.Request, p.Endpoint, p.Asked, p.Reserved, p.Took())
		}
	})
}
