package inspect

import (
	"math"

	"tavernsim/engine/budget"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/rundir"
)

// BudgetLine is one budget of the view "budgets".
type BudgetLine struct {
	rundir.Budget
	Reserved rundir.Spent `json:"reserved"` // by requests that are out, or that a kill cut off
	Left     Left         `json:"left"`
}

// Left is what is left of a budget, in the units that have a limit.
type Left struct {
	Tokens *int64 `json:"tokens,omitempty"`
	Calls  *int64 `json:"calls,omitempty"`
	Nano   *int64 `json:"nano,omitempty"`  // nano-dollars
	Micro  *int64 `json:"micro,omitempty"` // microseconds
	Bytes  *int64 `json:"bytes,omitempty"`
}

// Budgets folds the run: the widest budget first, of agents those that asked. What requests under way
// hold and have taken comes from the log of effects.
func (s *Scene) Budgets() ([]BudgetLine, error) {
	made, err := s.made()
	if err != nil {
		return nil, err
	}
	state, err := s.Fold(s.journal.Durable().Number)
	if err != nil {
		return nil, err
	}
	effects, err := s.run.Store.Journal(outside.JournalID(s.ID))
	if err != nil && protocol.KindOf(err) != protocol.KindNotFound {
		return nil, err
	}
	if err == nil {
		out, spent, err := outside.OpenTurns(effects, func(agent string) uint64 {
			o, ok := made.Ordinal(agent)
			if !ok || state.Agenda.GaveUp(o) {
				return math.MaxUint64
			}
			return state.Agents[o].State.Turn
		})
		if err != nil {
			return nil, err
		}
		for i := range out {
			state.Out(out[i].Agent, out[i].Endpoint, out[i].Took())
		}
		for _, x := range spent {
			state.Lost(x.Agent, x.Endpoint, x.Took)
		}
	}
	lines := state.Budgets()
	list := make([]BudgetLine, len(lines))
	for i, b := range rundir.Budgets(lines) {
		list[i] = BudgetLine{Budget: b, Reserved: rundir.Spent(lines[i].Reserved), Left: leftOf(lines[i].Left())}
	}
	return list, nil
}

func leftOf(a budget.Amount) (l Left) {
	set := func(to **int64, n int64) {
		if n >= 0 {
			*to = &n
		}
	}
	set(&l.Tokens, a.Tokens)
	set(&l.Calls, a.Calls)
	set(&l.Nano, a.Nano)
	set(&l.Micro, a.Micro)
	set(&l.Bytes, a.Bytes)
	return l
}
