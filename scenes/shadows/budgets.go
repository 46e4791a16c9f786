package shadows

import (
	"slices"
	"strings"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
)

// openBudgets begins what bounds the calls of shadows under budgets of models.
func (d *Driver) openBudgets(state *machines.State) {
	if c := d.scene.Budgets; c != nil && c.HasModels() {
		ledgers, _ := state.Spending.Kept()
		d.budgets = budget.NewAhead(*c, ledgers, shareAhead)
	}
}

// asks fills in a request as the shell of an agent does, and gives the most that it takes; nil = no
// budget has to do with it.
func (d *Driver) asks(a *one, turn uint64, q *effect.Ask) *llm.Bound {
	q.Model.Scene, q.Model.Turn, q.Model.Number = d.scene.ID, turn, int64(q.Number)
	if d.budgets == nil || q.Kind != effect.KindModel {
		return nil
	}
	q.Model.BudgetUsed = d.budgets.Share(a.ordinal, d.now())
	b := d.options.Runner.Bound(q)
	return &b
}

// limited is the bound of a request that takes something of a budget, else nil.
func (q *request) limited() *llm.Bound {
	if q.bound == nil || q.bound.Script || q.bound.Saved || q.bound.Recorded {
		return nil
	}
	return q.bound
}

func (d *Driver) now() protocol.Time { return d.tick.time(max(d.open, 0)) }

// walled reports whether a request may come to an endpoint that keeps a budget a day by itself. What
// shadows waste there would be missing to the turns. A recorded answer takes nothing there.
func (d *Driver) walled(b *llm.Bound) bool {
	return b != nil && !b.Recorded && !b.Saved && slices.ContainsFunc(b.Parts, func(p llm.Part) bool {
		l := d.scene.Budgets.Endpoints[p.Endpoint]
		return l != nil && l.Wall != budget.Amount{}
	})
}

// hold takes what a request takes at most; false = it waits until turns have taken what is held.
func (d *Driver) hold(s *shadow, q *request) bool {
	if q.limited() == nil {
		return true
	}
	r := outside.Request(s.of.ordinal, q.Number, q.bound)
	held, why, never := d.budgets.Hold(&r, d.now())
	ledger, _, _ := strings.Cut(why, ": ") // one line of each: its calls take more and more
	if never && len(d.advice) < maxAdvice && !slices.ContainsFunc(d.advice, func(x string) bool { return strings.HasPrefix(x, ledger+": ") }) {
		d.advice = append(d.advice, why)
	}
	q.held = held
	return why == ""
}

func (d *Driver) release(q *request) {
	if d.budgets != nil {
		d.budgets.Release(&q.held)
	}
}

// paid takes what an answer took. It is held until the turn itself takes the answer.
func (d *Driver) paid(a *one, q *request, x *effect.Answered) {
	if q.fate == outside.NeverSent || protocol.KindOf(x.Err) == protocol.KindCancelled {
		return
	}
	took, _ := budget.Taken(&x.Model)
	d.counts.Paid = d.counts.Paid.Plus(took)
	if q.fate == outside.Used {
		return
	}
	q.took = took
	d.counts.Vain = d.counts.Vain.Plus(took)
	if q.limited() != nil {
		d.budgets.Answered(&q.held, a.ordinal, endpointOf(x), took)
	}
}

func endpointOf(x *effect.Answered) string {
	if x.Model.Origin == nil {
		return ""
	}
	return x.Model.Origin.Endpoint
}

// became takes what became of a request. What is wasted stays held.
func (d *Driver) became(q *request, f outside.Fate) {
	q.fate = f
	if f == outside.Wasted {
		return
	}
	d.release(q)
	d.counts.Vain = d.counts.Vain.Minus(q.took)
}

// charge counts what a committed turn took of the budgets.
func (d *Driver) charge(in *Handed) error {
	if d.budgets == nil {
		return nil
	}
	for i := range in.Facts {
		if in.Facts[i].Kind != agentfact.FactModelAnswered {
			continue
		}
		f, err := d.options.Codec.ReadFact(in.Facts[i].Kind, in.Facts[i].Data)
		if err != nil {
			return err
		}
		x, _ := f.(*agentfact.ModelAnswered).Answered()
		took, _ := budget.Taken(&x.Model)
		d.budgets.Charge(in.Agent, endpointOf(x), in.At, took)
	}
	return nil
}

// noteSaved notes in an answer that it was recorded, as the shell of an agent does.
func noteSaved(b *llm.Bound, x *effect.Answered) {
	if b == nil || !b.Saved {
		return
	}
	if x.Model.Origin == nil {
		x.Model.Origin = &protocol.ModelOrigin{}
	}
	if x.Model.Origin.Budget == nil {
		x.Model.Origin.Budget = &protocol.ModelBudget{}
	}
	x.Model.Origin.Budget.Saved = true
}
