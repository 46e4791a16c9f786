package history

import (
	"errors"

	"tavernsim/engine/agent"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// Part folds a part of a state for a reader that needs no more: apply takes the records
// of the given kinds; none = all. The part is a service, by its actor; or
// [machines.Agenda], with how many events wait for each agent; or an agent, with the
// agenda and the services.
func Part(sc *setup.Scene, state *machines.State, part string) (kinds []string, apply func(protocol.Record) error) {
	codec := machines.NewCodec()
	for i, k := range machines.Services() {
		if k.Actor != part {
			continue
		}
		for _, typ := range k.Facts() {
			kinds = append(kinds, typ.Kind)
		}
		return kinds, func(r protocol.Record) error {
			fact, err := codec.ReadFact(r.Kind, r.Data)
			if err != nil {
				return err
			}
			return state.Services[i].Apply(fact)
		}
	}
	inbox := map[string]bool{} // kinds that change more than the memory of their agent
	for _, kind := range codec.FactKinds() {
		inbox[kind] = !codec.FactType(kind).Bytes
		if part == machines.Agenda && inbox[kind] {
			kinds = append(kinds, kind)
		}
	}
	only, alone := sc.Ordinal(part)
	agents := machines.AgentFold{Scene: sc, Machine: func(o uint32) *agent.Machine {
		if alone && o != only {
			return nil
		}
		return state.Agents[o]
	}}
	return kinds, func(r protocol.Record) error {
		if r.Actor != part && !inbox[r.Kind] {
			return nil
		}
		fact, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		return errors.Join(state.Stage.Apply(r, fact), state.ApplyServices(fact), agents.Apply(r, fact))
	}
}
