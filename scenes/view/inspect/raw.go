package inspect

import (
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/setup"
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

// AgentAt is the state of the scene at the end of a wave, in which one agent is sure to be
// true, with the agent's ordinal and the seed in force.
func (s *Scene) AgentAt(id string, wave persistence.Wave) (state *machines.State, o uint32, seed uint64, err error) {
	if err = s.agent(id); err != nil {
		return nil, 0, 0, err
	}
	if state, o, err = s.withAgent(wave, id); err != nil {
		return nil, 0, 0, err
	}
	seed, err = history.SeedIn(state.StageState, s.journal, s.run.Manifest.Seeds[s.ID])
	return state, o, seed, err
}

// Made is the definition of the scene.
func (s *Scene) Made() (*setup.Scene, error) { return s.made() }
