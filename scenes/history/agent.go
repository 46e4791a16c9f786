package history

import (
	"errors"

	"tavernsim/engine/agent"
	"tavernsim/engine/cast"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// Agent folds one agent alone to the end of a durable wave, from a snapshot and the facts after it.
func Agent(sc *setup.Scene, journal Journal, o uint32, wave uint64, opt Options) (*agent.Machine, error) {
	m := sc.Machine(o)
	through, err := journal.Wave(wave)
	if err != nil {
		return nil, err
	}
	return m, foldAgent(sc, journal, m, through, nil, opt)
}

// AgentOf folds one agent and the services to the end of the wave to which the stage was
// folded, and joins them: of the other agents nothing is known.
func AgentOf(sc *setup.Scene, journal Journal, o uint32, stage *machines.StageState, opt Options) (*machines.State, error) {
	through, err := journal.Wave(stage.Agenda.Wave)
	if err != nil {
		return nil, err
	}
	state, err := machines.New(sc)
	if err != nil {
		return nil, err
	}
	err = foldAgent(sc, journal, state.Agents[o], through, state, opt)
	state.StageState = stage
	return state, err
}

// foldAgent folds one agent to the end of a wave; with a state the services of that, too.
func foldAgent(sc *setup.Scene, journal Journal, m *agent.Machine, through persistence.Wave, services *machines.State, opt Options) error {
	f, codec, id := fold{scene: sc, journal: journal, Options: opt, through: through}, machines.NewCodec(), m.ID.Instance
	after, err := f.base(func(name string, raw []byte) (err error) {
		_, agents := sc.Ordinal(name)
		switch {
		case name == id:
			m.State, err = agent.Restore(codec, raw)
		case !agents && services != nil:
			err = services.Load(name, raw)
		}
		return err
	})
	if err != nil || after.Last >= through.Last {
		return err
	}
	agents := machines.AgentFold{Scene: sc, Machine: func(other uint32) *agent.Machine {
		if other == m.ID.Ordinal {
			return m
		}
		return nil
	}}
	return f.walk(after, nil, func(r protocol.Record) error {
		if r.Actor != id && !cast.OfScene(r.Actor) && !codec.FactType(r.Kind).Others {
			return nil // of another agent alone
		}
		fact, err := codec.ReadFact(r.Kind, r.Data)
		if err == nil && services != nil {
			err = services.ApplyServices(fact)
		}
		return errors.Join(err, agents.Apply(r, fact))
	})
}
