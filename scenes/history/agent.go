package history

import (
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// Agent folds one agent alone, from a snapshot and the facts after it, to the last
// durable wave, and returns that wave.
func Agent(sc *setup.Scene, journal Journal, o uint32, opt Options) (*agent.Machine, uint64, error) {
	m, through, codec := sc.Machine(o), journal.Durable(), machines.NewCodec()
	f := fold{scene: sc, journal: journal, Options: opt, through: through}
	after, err := f.base(func(name string, raw []byte) (err error) {
		if name == sc.Name(o) {
			m.State, err = agent.Restore(codec, raw)
		}
		return err
	})
	if err != nil || after.Last >= through.Last {
		return m, through.Number, err
	}
	agents := machines.AgentFold{Scene: sc, Machine: func(other uint32) *agent.Machine {
		if other == o {
			return m
		}
		return nil
	}}
	return m, through.Number, f.walk(after, nil, func(r protocol.Record) error {
		if r.Actor != sc.Name(o) && !strings.HasPrefix(r.Actor, "$") && !codec.FactType(r.Kind).Others {
			return nil // of another agent alone
		}
		fact, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		return agents.Apply(r, fact)
	})
}
