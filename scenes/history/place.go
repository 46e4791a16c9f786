package history

import (
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// Place is where a fork cuts a history, and what the starts and forks of that history say of it.
type Place struct {
	persistence.Wave
	Seed  uint64   // in force there
	Older bool     // another seed may have been: the history has lost its beginning, and a fork behind the place changed the seed
	later []string // what forks behind it changed for the rest of the run: no fact before it tells of that
}

// PlaceAt reads the place behind a wave. seed is that of the run, if the history does not say with which one it began.
func PlaceAt(journal Journal, cut persistence.Wave, seed uint64) (Place, error) {
	p, codec, told := Place{Wave: cut, Seed: seed}, machines.NewCodec(), false
	err := journal.Scan(persistence.Query{Kinds: []string{agenda.FactStarted, agenda.FactForked}}, func(r protocol.Record) error {
		fact, err := codec.ReadFact(r.Kind, r.Data)
		switch x := fact.(type) {
		case *agenda.Started:
			p.Seed, told = x.Seed, true
		case *agenda.Forked:
			if r.Seq <= cut.Last {
				p.Seed, told = x.Seed, true
			} else {
				p.later = p.Changes(x.Changes)
				p.Older = p.Older || !told && slices.ContainsFunc(x.Changes, ofSeed)
			}
		}
		return err
	})
	p.later = slices.DeleteFunc(p.later, func(text string) bool { // what is set in the world there is not here, and a fork has its own seed
		return strings.HasPrefix(text, "world.") || ofSeed(text)
	})
	return p, err
}

// SeedIn is the seed in force behind the last wave of a state. seed is that of the run, for a state that was read from an
// older snapshot of a history that has lost its beginning.
func SeedIn(state *machines.StageState, journal Journal, seed uint64) (uint64, error) {
	if state.Seed != nil {
		return *state.Seed, nil
	}
	through, err := journal.Wave(state.Agenda.Wave)
	if err != nil {
		return 0, err
	}
	p, err := PlaceAt(journal, through, seed)
	return p.Seed, err
}

func ofSeed(change string) bool { return strings.HasPrefix(change, "seed=") }

// Changes are those of a fork that keeps the flags of the run, with its own. The last one of a key counts.
func (p Place) Changes(own []string) []string {
	key := func(text string) string { before, _, _ := strings.Cut(text, "="); return before }
	kept := slices.DeleteFunc(append([]string{}, p.later...), func(text string) bool {
		return slices.ContainsFunc(own, func(c string) bool { return key(c) == key(text) })
	})
	return append(kept, own...)
}
