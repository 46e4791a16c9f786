package scenes

import (
	"tavernsim/engine/agent"
	"tavernsim/persistence"
	"tavernsim/scenes/project"
)

// Restored reads the newest snapshot, which the live actors gave, and folds what
// came after. from is the wave of the snapshot; 0 = there is none.
func Restored(p *project.Project, def *project.Scene, journal *persistence.Journal, opt Options) (state *State, from uint64, err error) {
	sc, err := build(p, def, journal, opt)
	if err != nil {
		return nil, 0, err
	}
	snap, err := journal.LatestSnapshot()
	if err == nil && snap != nil {
		from = snap.Wave.Number
	}
	state, err = sc.restore()
	return state, from, err
}

// Look shows what an agent keeps.
func Look(m *agent.Machine) map[string]any {
	goals := []any{}
	for _, g := range m.State.Goals {
		goals = append(goals, g.Value())
	}
	private := m.State.Private
	if private == nil {
		private = map[string]any{}
	}
	return map[string]any{"private": private, "goals": goals, "turn": int64(m.State.Turn), "waiting": int64(m.State.Waiting())}
}
