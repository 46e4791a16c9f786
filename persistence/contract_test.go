package persistence_test

import (
	"fmt"
	"reflect"

	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
)

// Journal and Writer are what tests hold a journal to.
type (
	Journal = persistencetest.Journal
	Writer  = persistencetest.Writer
)

// Store is what the suite needs of a store.
type Store interface {
	Journal(scene string) (Journal, error)
	Scenes() ([]string, error)
	Close() error
}

// Of makes the suite's Store of persistence's own.
func Of(s *persistence.Store) Store { return store{s} }

type store struct{ *persistence.Store }

func (s store) Journal(scene string) (Journal, error) {
	j, err := s.Store.Journal(scene)
	if err != nil {
		return nil, err
	}
	return j, nil
}

// direct is a store whose journals store, wait and answer in CloseWave.
type direct struct{ store }

func (s direct) Journal(scene string) (Journal, error) {
	j, err := s.Direct(scene)
	if err != nil {
		return nil, err
	}
	return j, nil
}

// Check compares a journal with the history that it must hold, fact by fact and
// wave by wave: exactly the waves that are durable, which must be the first of
// the model's.
func Check(j Journal, m Model) error {
	last := j.Durable()
	if last.Number > uint64(len(m.Waves)) {
		return fmt.Errorf("wave %d is durable; the history has %d", last.Number, len(m.Waves))
	}
	if last.Number > 0 && last != m.Waves[last.Number-1] {
		return fmt.Errorf("durable wave is %+v; want %+v", last, m.Waves[last.Number-1])
	}
	begin := j.Begin()
	seq := begin.Last
	err := j.Read(0, func(r protocol.Record) error {
		if seq++; r.Seq != seq {
			return fmt.Errorf("read seq %d; want %d", r.Seq, seq)
		}
		return sameFact(r, m.Facts[seq-1])
	})
	if err == nil && seq != last.Last {
		err = fmt.Errorf("read up to seq %d; want %d", seq, last.Last)
	}
	if err != nil {
		return err
	}
	number := begin.Number
	err = j.Waves(0, func(w persistence.Wave) error {
		number++
		if w != m.Waves[number-1] {
			return fmt.Errorf("wave %+v; want %+v", w, m.Waves[number-1])
		}
		return nil
	})
	if err == nil && number != last.Number {
		err = fmt.Errorf("listed up to wave %d; want %d", number, last.Number)
	}
	if err != nil {
		return err
	}
	return checkNote(j, m)
}

// checkNote: if the journal has a note, it is of one of its waves.
func checkNote(j Journal, m Model) error {
	seq, note, err := j.NoteAt(j.Durable().Last)
	if err != nil || seq == 0 {
		return err
	}
	for _, w := range m.Waves[j.Begin().Number:j.Durable().Number] {
		if w.Last == seq && noted(w.Number) && string(note) == string(noteOf(w.Number)) {
			return nil
		}
	}
	return fmt.Errorf("note %q at seq %d", note, seq)
}

func sameFact(have, want protocol.Record) error {
	if len(have.Data) == 0 {
		have.Data = nil
	}
	if len(want.Data) == 0 {
		want.Data = nil
	}
	if !reflect.DeepEqual(have, want) {
		return fmt.Errorf("fact %+v; want %+v", have, want)
	}
	return nil
}
