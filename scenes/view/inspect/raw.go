package inspect

import (
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
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

// WaveOf finds the wave of a fact. A caller that walks forward gives the wave of the fact
// before as a hint; 0 = none.
func (s *Scene) WaveOf(seq, hint uint64) (persistence.Wave, error) {
	w := s.waves()
	if at, err := s.journal.Wave(hint); err == nil {
		w.at = at
	}
	_, err := w.of(seq)
	return w.at, err
}
