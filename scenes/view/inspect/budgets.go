package inspect

import (
	"math"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/budget"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
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

// Budgets lists the widest budget first, of agents those that asked. What requests under way
// hold and have taken comes from the log of effects.
func (s *Scene) Budgets() ([]BudgetLine, error) {
	made, err := s.made()
	if err != nil || made.Budgets == nil {
		return []BudgetLine{}, err
	}
	stage, ended, err := s.spending(made)
	if err != nil {
		return nil, err
	}
	effects, err := s.run.Store.Journal(outside.JournalID(s.ID))
	if err != nil && protocol.KindOf(err) != protocol.KindNotFound {
		return nil, err
	}
	if err == nil {
		out, spent, err := outside.OpenTurns(effects, ended)
		if err != nil {
			return nil, err
		}
		for i := range out {
			stage.Spending.Out(out[i].Agent, out[i].Request, out[i].Endpoint, out[i].Took())
		}
		for _, x := range spent {
			stage.Spending.Lost(x.Agent, x.Request, x.Endpoint, x.Took())
		}
	}
	lines := stage.Spending.Lines()
	list := make([]BudgetLine, len(lines))
	for i, b := range rundir.Budgets(lines) {
		list[i] = BudgetLine{Budget: b, Reserved: rundir.Spent(lines[i].Reserved), Left: leftOf(lines[i].Left())}
	}
	return list, nil
}

// spending is the stage at the end of the journal, and the last turn of an agent whose end is
// durable. An agent that was given up has no turn to come, nor has any when the scene has ended.
func (s *Scene) spending(made *setup.Scene) (*machines.StageState, func(agent string) uint64, error) {
	stage, err := s.stageAt(s.journal.Durable())
	if err != nil {
		return nil, nil, err
	}
	var turn func(o uint32) uint64
	if stage == nil || s.journal.Begin().Number > 0 { // the last turn of the scene's own agent may be gone
		state, err := s.Fold(s.journal.Durable().Number)
		if err != nil {
			return nil, nil, err
		}
		stage, turn = state.StageState, func(o uint32) uint64 { return state.Agents[o].State.Turn }
	} else if turn, err = s.counted(stage); err != nil {
		return nil, nil, err
	}
	return stage, func(agent string) uint64 {
		o, ok := made.Ordinal(agent)
		if !ok || stage.Agenda.GaveUp(o) || stage.Agenda.Ended != "" {
			return math.MaxUint64
		}
		return turn(o)
	}, nil
}

// counted is the last turn of an agent by the roster, and of the scene's own by its facts.
func (s *Scene) counted(stage *machines.StageState) (func(o uint32) uint64, error) {
	own := uint64(0)
	err := s.facts(persistence.Query{Actor: sceneActor, Kinds: []string{agentfact.FactTurnEnded}}, func(_ protocol.Record, fact protocol.Fact) error {
		own = fact.(*agentfact.TurnEnded).Turn
		return nil
	})
	return func(o uint32) uint64 {
		if int(o) == len(stage.Roster) {
			return own
		}
		return uint64(stage.Roster[o].Turns) + stage.Travel.Elsewhere(o)
	}, err
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
