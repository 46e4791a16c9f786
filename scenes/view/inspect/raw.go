package inspect

import (
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
)

// What the views of this package are made of, for who makes others.

// Journal is the scene's journal, open for reading.
func (s *Scene) Journal() history.Journal { return s.journal }

// RunBy names the process that runs the scene at the moment; "" when none does.
func (s *Scene) RunBy() string { return s.run.Store.Owner() }

// Dir is the run's directory.
func (s *Scene) Dir() string { return s.run.Dir }

// Manifest is the run's.
func (s *Scene) Manifest() *rundir.Manifest { return s.run.Manifest }

// FactLine is a fact as the view "facts" shows it.
func (s *Scene) FactLine(r protocol.Record) (FactLine, error) { return s.factLine(r, s.waves()) }

// Query puts a span of the run into a query.
func (s *Scene) Query(span Span, q persistence.Query) (persistence.Query, error) {
	return s.query(span, q)
}

// Cut is the last wave at or before a moment (see [Span]); "" = the end.
func (s *Scene) Cut(text string) (persistence.Wave, error) { return s.cut(text) }

// Scan hands over the records that q chooses, in order, and tells Progress.
func (s *Scene) Scan(q persistence.Query, yield func(protocol.Record) error) error {
	return s.scan(q, yield)
}

// Fact decodes a record.
func (s *Scene) Fact(r protocol.Record) (protocol.Fact, error) { return s.read(r) }

// Fold is the state of the scene at the end of a wave.
func (s *Scene) Fold(wave uint64) (*machines.State, error) { return s.fold(wave) }

// Known checks that an instance id, or the name of a service ($world), is one of
// the scene.
func (s *Scene) Known(id string) error { return s.actor(id) }

// WaveOf finds the wave of a fact. Who walks forward gives the wave that he
// expects next as a hint; 0 = none.
func (s *Scene) WaveOf(seq, hint uint64) (persistence.Wave, error) {
	if hint > 0 && hint <= s.journal.Durable().Number {
		if w, err := s.journal.Wave(hint); err == nil && seq >= w.First && seq <= w.Last {
			return w, nil
		}
	}
	w := s.waves()
	_, err := w.of(seq)
	return w.at, err
}
