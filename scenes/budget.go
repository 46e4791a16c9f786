package scenes

import (
	"tavernsim/engine/agent"
	"tavernsim/engine/budget"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// underBudget is what the shell of an agent keeps of a deliberation under a budget.
type underBudget struct {
	*machines.WakeBudget
	asked map[int]*held // requests to models, by number
	step  budget.Step   // what the shell does now, for the stage
}

// held is a request to a model, and what budgets have to do with it.
type held struct {
	ask    *agent.Ask
	bound  llm.Bound
	ledger string // because of which another model answers; "" = none
}

func (h *held) request(o uint32) budget.Request {
	return budget.Request{Agent: o, Number: h.ask.Number, Bound: amountOf(&h.bound), Unpriced: !h.bound.Priced, Changed: h.ledger != ""}
}

// amountOf is the most that a request takes of a ledger.
func amountOf(b *llm.Bound) budget.Amount {
	if b.Saved {
		return budget.Amount{}
	}
	return budget.Amount{Tokens: b.Input + b.Output, Calls: 1, Nano: b.Cost}
}

// wokenUnder begins a deliberation under a budget; nil = there is none.
func (a *agentShell) wokenUnder(b *machines.WakeBudget) {
	if a.budget = nil; b != nil {
		a.budget = &underBudget{WakeBudget: b, asked: map[int]*held{}}
	}
}

// hold keeps a request until the stage grants it; false = it may leave at once.
func (a *agentShell) hold(q *agent.Ask) bool {
	b := a.budget
	if b == nil {
		return false
	}
	if q.Kind != agent.KindModel {
		b.step.Free++
		return false
	}
	q.Model.BudgetUsed = b.Used
	h := &held{ask: q, bound: a.outside.Bound(q)}
	b.asked[q.Number] = h
	if b.ByGrant {
		b.step.Asks = append(b.step.Asks, h.request(a.machine.ID.Ordinal))
	}
	return b.ByGrant
}

// stepped tells the stage what the deliberation did with one message.
func (a *agentShell) stepped() {
	b := a.budget
	if b == nil || !b.ByGrant {
		return
	}
	in := &machines.TurnStep{Wave: a.wave, Step: b.step}
	in.Agent = a.machine.ID.Ordinal
	b.step = budget.Step{}
	env := carrying(protocol.KindStep, in)
	env.Source = a.machine.ID.Instance
	a.stage.Tell(env)
}

// granted takes what becomes of a request: it leaves, another model gets it, or it
// fails.
func (a *agentShell) granted(env *protocol.Envelope) error {
	g, err := carried[*budget.Grant](env)
	if err != nil || env.Wave != a.wave || a.budget == nil || a.budget.asked[g.Number] == nil {
		return err // the deliberation that asked has ended or failed
	}
	h := a.budget.asked[g.Number]
	if g.Refused != nil {
		if h.ledger != "" || g.Refused.On.Do != budget.Degrade {
			x := &h.ask.Answer
			*x = agent.Answered{Kind: h.ask.Kind, Number: h.ask.Number, Err: &llm.Failure{Outcome: llm.OutcomeBudget, Message: g.Refused.Text}}
			x.Model.Origin = &protocol.ModelOrigin{Budget: &protocol.ModelBudget{Ledger: g.Refused.Ledger}}
			a.asked(a.model.Name(), h.ask, x, 0)
			return a.step(x)
		}
		h.ledger, h.ask.Model.Model = g.Refused.Ledger, g.Refused.On.Model
		if h.bound = a.outside.Bound(h.ask); !h.bound.Script {
			a.budget.step.Asks = append(a.budget.step.Asks, h.request(a.machine.ID.Ordinal))
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

// settle notes in an answer what budgets have to do with it, and what it took.
func (a *agentShell) settle(x *agent.Answered) {
	if a.budget == nil || x.Kind != agent.KindModel {
		return
	}
	h := a.budget.asked[x.Number]
	if h == nil {
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
	a.budget.step.Took, _ = machines.Taken(&x.Model, x.Err != nil)
}

// boundOf is the bound of a request to an endpoint under a budget, else nil.
func (a *agentShell) boundOf(q *agent.Ask) *llm.Bound {
	if a.budget == nil || q.Kind != agent.KindModel {
		return nil
	}
	if h := a.budget.asked[q.Number]; h != nil && !h.bound.Script && !h.bound.Saved {
		return &h.bound
	}
	return nil
}
