package history

import (
	"cmp"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/budget"
	"tavernsim/llm/price"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/tally"
)

// ModelUse is what the agents of a scene got from one model at an endpoint. Costs are those when the
// endpoint was asked, also of answers that this run took from a record.
type ModelUse struct {
	Endpoint  string `json:"endpoint"`
	Model     string `json:"model"` // that answered; of failures that was asked
	Answers   int64  `json:"answers"`
	Failed    int64  `json:"failed"`
	Input     int64  `json:"tokens_in"`
	Output    int64  `json:"tokens_out"`
	Cached    int64  `json:"tokens_cached"` // of Input, read from a cache
	Reasoning int64  `json:"tokens_reasoning"`
	Length    int64  `json:"cut"`      // answers that were cut at max_tokens
	Cost      int64  `json:"cost"`     // nano-dollars
	Unpriced  int64  `json:"unpriced"` // answers whose price was not known; Cost is without them
}

// maxModels bounds the rows by model, beside one [tally.Other] for each endpoint: a server may name another model in each answer.
const maxModels = 200

// Scanner reads the facts of a journal.
type Scanner interface {
	Scan(q persistence.Query, yield func(protocol.Record) error) error
}

// Models reads what endpoints gave in a scene from a fact on, by endpoint and model, the first [maxModels] by themselves. lost is what budgets count for requests
// whose answer no turn took, at most: those that failed, were cut off or were dropped. A provider may have charged less.
func Models(journal Scanner, from uint64) (list []ModelUse, lost budget.Amount, err error) {
	by := map[[2]string]*ModelUse{}
	err = used(journal, from, func(_ string, f *agentfact.ModelAnswered) {
		if b := f.Origin.Budget; b != nil {
			lost = lost.Plus(budget.Amount{Tokens: b.Lost, Nano: b.LostNano})
		}
		if f.Cut() {
			return
		}
		key := [2]string{f.Origin.Endpoint, f.Model}
		if by[key] == nil && len(by) >= maxModels {
			key[1] = tally.Other
		}
		if by[key] == nil {
			by[key] = &ModelUse{Endpoint: key[0], Model: key[1]}
		}
		by[key].add(f)
	}, func(f *agenda.TurnAbandoned) {
		var most budget.Amount // of the ledgers, of which each counts the same
		for i := range f.Took {
			if f.Took[i].Ledger == budget.OfTools { // that took no answer of a model
				continue
			}
			took := f.Took[i].Took()
			most.Tokens, most.Nano = max(most.Tokens, took.Tokens), max(most.Nano, took.Nano)
		}
		lost = lost.Plus(most)
	})
	list = make([]ModelUse, 0, len(by))
	for _, u := range by {
		list = append(list, *u)
	}
	slices.SortFunc(list, func(a, b ModelUse) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Model, b.Model))
	})
	return list, lost, err
}

// UseByAgent reads what endpoints gave to each agent of a scene, by instance id.
func UseByAgent(journal Scanner) (map[string]*ModelUse, error) {
	by := map[string]*ModelUse{}
	err := used(journal, 0, func(id string, f *agentfact.ModelAnswered) {
		if f.Cut() {
			return
		}
		if by[id] == nil {
			by[id] = &ModelUse{}
		}
		by[id].add(f)
	}, nil)
	return by, err
}

// used calls yield for every answer and failure of an endpoint, with the agent that asked, and gone, which may be nil, for every
// turn that was abandoned. A fact of a request that was cut off, or whose answer nobody takes, is neither: it charges budgets, and
// names no model.
func used(journal Scanner, from uint64, yield func(id string, f *agentfact.ModelAnswered), gone func(*agenda.TurnAbandoned)) error {
	codec := machines.NewCodec()
	kinds := []string{agentfact.FactModelAnswered}
	if gone != nil {
		kinds = append(kinds, agenda.FactAbandoned)
	}
	return journal.Scan(persistence.Query{From: from, Kinds: kinds}, func(r protocol.Record) error {
		fact, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		switch f := fact.(type) {
		case *agentfact.ModelAnswered:
			if f.Origin != nil && f.Origin.Endpoint != "" {
				yield(r.Actor, f)
			}
		case *agenda.TurnAbandoned:
			gone(f)
		}
		return nil
	})
}

func (u *ModelUse) add(f *agentfact.ModelAnswered) {
	if f.Error != "" {
		u.Failed++
		return
	}
	u.Answers++
	u.Input, u.Output = u.Input+f.Input, u.Output+f.Output
	u.Cached, u.Reasoning = u.Cached+f.CacheRead, u.Reasoning+f.ReasoningTokens
	if f.Finish == protocol.FinishLength {
		u.Length++
	}
	if !f.Origin.Priced {
		u.Unpriced++
	}
	u.Cost = price.Sum(u.Cost, f.Origin.Cost)
}

// Price says in words what the answers cost: "$0.42", "free", "no price".
func (u *ModelUse) Price() string {
	switch {
	case u.Answers == 0:
		return ""
	case u.Unpriced == u.Answers:
		return "no price"
	case u.Cost == 0:
		return "free"
	case u.Unpriced > 0:
		return price.Dollars(u.Cost) + " and more"
	}
	return price.Dollars(u.Cost)
}
