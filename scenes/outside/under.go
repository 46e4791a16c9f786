package outside

import (
	"context"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/budget"
	"tavernsim/engine/tooltask"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// Most is the most that a request under a budget takes of an endpoint; of a call of a tool, its price. If its answer is never
// kept, so much is lost.
type Most struct {
	Endpoint     string // name; "" = of a tool
	Tokens, Nano int64  // nano-dollars
	Moved        bool   // another endpoint failed at no cost, and this one takes the request over

	// What an answer took, which the log has:
	taken        bool
	micro, bytes int64 // of a tool

	// Of a request whose answer is kept, or still to come:
	Reserved budget.Amount // the most that it could take
	Asked    protocol.Time // of its turn
}

// none reports whether nobody has the request: see [Flight.TakeBack].
func (m *Most) none() bool { return m.Moved && m.Tokens == 0 && m.Nano == 0 }

// Lost is a request under a budget that was made and has no answer, nor will have one, or one that nobody takes.
type Lost struct {
	Agent   string // instance id
	Request int    // its number; of a call of a tool with budget.ToolNumbers
	Most
}

// Took is what it counts in the ledgers.
func (m *Most) Took() budget.Amount {
	if m.none() {
		return budget.Amount{}
	}
	return budget.Amount{Tokens: m.Tokens, Calls: 1, Nano: m.Nano, Micro: m.micro, Bytes: m.bytes}
}

// Tool reports whether it is a call of a tool.
func (l *Lost) Tool() bool { return l.Request >= budget.ToolNumbers }

// Answered is the failure of a request to a model, for the turn that makes it again.
func (l *Lost) Answered() *effect.Answered {
	text := ": the request was out when the deliberation was cut off"
	if l.taken {
		text = ": the deliberation failed or was cut off, and nobody takes the answer"
	}
	x := &effect.Answered{Kind: effect.KindModel, Number: l.Request, Err: &llm.Failure{Outcome: llm.OutcomeCancelled, Message: l.Endpoint + text}}
	x.Model.Origin = &protocol.ModelOrigin{Endpoint: l.Endpoint, Budget: &protocol.ModelBudget{Lost: l.Tokens, LostNano: l.Nano, Cut: true}}
	return x
}

// Paid reports whether the log has the answer to a request of a turn, which the turn made before a kill or a failure, or
// the request is out since then.
func (r *Runner) Paid(instance string, turn uint64, q *effect.Ask) bool {
	to := r.kinds[q.Kind]
	if to == nil || r.Log == nil {
		return false
	}
	e := &Effect{Agent: instance, Turn: turn, Request: q.Number, Kind: q.Kind}
	return r.Log.answers(e, func() Question { return Hash(appendQuestion(nil, to.Name(), q)) })
}

// Foretold reports whether the log has the answer to a request of a shadow.
func (r *Runner) Foretold(instance string, turn uint64, at protocol.Time, q *effect.Ask) bool {
	to := r.kinds[q.Kind]
	if to == nil || r.Log == nil {
		return false
	}
	e := &Effect{Agent: instance, Turn: turn, Request: q.Number, Kind: q.Kind, At: at}
	return r.Log.foretells(e, func() Question { return Hash(appendQuestion(nil, to.Name(), q)) }, func() Question { return to.foretold(q, nil) })
}

// Request asks the ledgers for what a request may take.
func Request(agent uint32, number int, b *llm.Bound) budget.Request {
	r := budget.Request{Agent: agent, Number: number, Unpriced: !b.Priced}
	if !b.Saved {
		r.Bound = budget.Amount{Tokens: b.Input + b.Output, Calls: 1, Nano: b.Cost}
	}
	for _, p := range b.Parts {
		r.Parts = append(r.Parts, budget.Part{Endpoint: p.Endpoint, Bound: budget.Amount{Tokens: p.Tokens, Calls: 1, Nano: p.Cost}, Unpriced: !p.Priced, First: p.First})
	}
	return r
}

// refused is the failure of a request that a ledger has no room for. of has its question, if a replay is to find the
// failure by that; nil = the replay refuses it again.
func refused(ledger, text string, of *protocol.ModelOrigin) effect.Answered {
	o := &protocol.ModelOrigin{Budget: &protocol.ModelBudget{Ledger: ledger}}
	if of != nil {
		o.Question = of.Question
	}
	return effect.Answered{Err: &llm.Failure{Outcome: llm.OutcomeBudget, Message: text}, Model: protocol.ModelAnswer{Origin: o}}
}

// Refuse answers a request that a ledger has no room for, unless a route has another model for
// it; false = it has.
func (r *Runner) Refuse(q *effect.Ask, by *budget.Refusal) bool {
	q.Answer = refused(by.Ledger, by.Text, nil)
	q.Answer.Kind, q.Answer.Number = q.Kind, q.Number
	m, ok := r.kinds[q.Kind].Executor.(model)
	if !ok || budget.Kind(by.Ledger)+":" != budget.OfEndpoint {
		return true
	}
	router, ok := m.Provider.(llm.Router)
	if ok {
		asked := q.Model.Model
		if _, ok = next(router, q, &q.Answer, nil); ok {
			r.watch.Elsewhere(asked, llm.OutcomeBudget)
		}
	}
	return !ok
}

// most is what the call may take of the endpoint that was chosen, of the bound of the whole; nil = it
// is under no budget.
func (c *call) most(moved bool, b *llm.Bound) *Most {
	if b == nil {
		return nil
	}
	m := &Most{Endpoint: c.chosen.Endpoint, Tokens: b.Input + b.Output, Nano: b.Cost, Moved: moved}
	for _, p := range b.Parts {
		if p.Endpoint == m.Endpoint {
			m.Tokens, m.Nano = p.Tokens, p.Cost
		}
	}
	return m
}

// LostOf is what an answer took that nobody takes; price is that of the tool that answers.
func LostOf(agent string, x *effect.Answered, price int64) []Lost {
	if m := spentOf(x, price); !m.none() {
		return []Lost{{agent, placeKey{x.Kind, x.Number}.number(), m}}
	}
	return nil
}

// spentOf is what an answer took of a budget; none = nothing.
func spentOf(x *effect.Answered, price int64) Most {
	m := Most{taken: true}
	if x.Kind != effect.KindModel {
		if m.Moved = x.Err != nil && !x.Carried && !tooltask.Costs(protocol.KindOf(x.Err)); !m.Moved {
			m.Nano, m.micro = price, max(x.Latency, 0).Microseconds()
			if x.Output != nil {
				m.bytes = tool.SizeOf(protocol.Encode(x.Output), x.Artifacts)
			}
		}
		return m
	}
	took, _ := budget.Taken(&x.Model)
	if x.Model.Origin != nil {
		m.Endpoint = x.Model.Origin.Endpoint
	}
	m.Tokens, m.Nano, m.Moved = took.Tokens, took.Nano, took == budget.Amount{}
	return m
}

// reserve takes what an attempt may take out of the budget a day of its endpoint; it waits while
// others hold the rest. Without room it gives the answer that says so; nil = it is taken.
func (c *call) reserve(x *attempt) *effect.Answered {
	book := c.gate.Book
	if book == nil {
		return nil
	}
	b := c.from.Bound
	if b == nil {
		bound := c.runner.Bound(&c.ask)
		b, c.from.Bound = &bound, &bound
	}
	most := c.most(false, b)
	ctx, stop := context.WithTimeout(c.ctx, patience)
	defer stop()
	var err error
	if x.book, err = book.Reserve(ctx, most.Took(), !b.Priced); err == nil {
		return nil
	}
	no := refused(budget.OfEndpoint+c.gate.Name(), err.Error(), c.failed(err).Model.Origin)
	no.Err = err
	return &no
}

// settleBook gives back what an attempt did not take. One that the endpoint refused took nothing. What
// cannot be given back stays taken.
func (c *call) settleBook(x *attempt, answer *effect.Answered) {
	if x.book == nil {
		return
	}
	took, _ := budget.Taken(&answer.Model)
	if answer.Err != nil && !mayHaveCost(answer) {
		took = budget.Amount{}
	}
	_ = c.gate.Book.Settle(x.book, took)
	x.book = nil
}
