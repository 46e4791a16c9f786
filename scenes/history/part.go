package history

import (
	"errors"
	"slices"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/persistence"
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
		if k.Actor() == part {
			return partOf(k, state.Services[i], codec)
		}
	}
	inbox := map[string]bool{} // kinds that change more than the memory of their agent
	for _, kind := range staged(codec) {
		inbox[kind] = true
	}
	if part == machines.Agenda {
		kinds = staged(codec)
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
		return errors.Join(state.StageState.Apply(r, fact), state.ApplyServices(fact), agents.Apply(r, fact))
	}
}

// staged are the kinds of facts that the stage decodes.
func staged(codec *protocol.Codec) []string {
	return slices.DeleteFunc(codec.FactKinds(), func(kind string) bool { return codec.FactType(kind).Bytes })
}

// FoldStage folds the state of the stage alone to the end of a wave, from the state that it noted with the
// wave of the fact after.
func FoldStage(sc *setup.Scene, journal Journal, note *machines.Note, after uint64, through persistence.Wave, opt Options) (*machines.StageState, error) {
	stage := machines.NewStageState(sc)
	if err := stage.Load(note.Scene); err != nil {
		return nil, err
	}
	f, codec := fold{Options: opt, scene: sc, journal: journal, through: through}, machines.NewCodec()
	if after >= through.Last {
		return stage, nil
	}
	kinds := staged(codec)
	if sc.Budgets != nil {
		kinds = append(kinds, agentfact.FactModelAnswered)
	}
	return stage, f.walk(persistence.Wave{Last: after}, kinds, func(r protocol.Record) error {
		fact, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		return stage.Apply(r, fact)
	})
}

// partOf is the part of a service.
func partOf(k machines.ServiceKind, service machines.Service, codec *protocol.Codec) (kinds []string, apply func(protocol.Record) error) {
	for _, typ := range k.Facts() {
		kinds = append(kinds, typ.Kind)
	}
	return kinds, func(r protocol.Record) error {
		fact, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		return service.Apply(fact)
	}
}

// Service folds one service alone to the last durable wave, and returns the number of facts that it
// read.
func Service(sc *setup.Scene, journal Journal, k machines.ServiceKind, opt Options) (machines.Service, uint64, error) {
	service, err := k.New(sc)
	if err != nil {
		return nil, 0, err
	}
	f, codec := fold{scene: sc, journal: journal, Options: opt, through: journal.Durable()}, machines.NewCodec()
	after, err := f.base(func(name string, raw []byte) error {
		if name != k.Actor() {
			return nil
		}
		return service.Load(codec, raw)
	})
	if err != nil || after.Last >= f.through.Last {
		return service, 0, err
	}
	kinds, apply := partOf(k, service, codec)
	err = f.walk(after, kinds, apply)
	return service, f.facts, err
}
