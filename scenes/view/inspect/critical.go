package inspect

import (
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/schedule/chain"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/shadows"
)

// CriticalPath is the view "critical-path".
type CriticalPath struct {
	Scene string `json:"scene"`
	// Measured has the times of the wall clock, of the last process of the run. Facts do not: they
	// are in its summary. nil = Missing says why.
	Measured *rundir.CriticalPath `json:"measured"`
	Missing  string               `json:"missing,omitempty"`
	// Modelled has the latencies of the scene's clock, of all stored facts; nil = answers take no
	// time there.
	Modelled *rundir.CriticalPath `json:"modelled"`
	Dropped  uint64               `json:"dropped_facts,omitempty"` // facts before the first stored one
}

// CriticalPath says which calls of models the run waited for.
func (s *Scene) CriticalPath() (*CriticalPath, error) {
	made, err := s.made()
	if err != nil {
		return nil, err
	}
	if made.Clock != agenda.Virtual {
		return nil, protocol.Errorf(protocol.KindInvalid, "scene %s: on the realtime clock no turn waits for another agent's call, so there is no critical path; see the view agents", s.ID)
	}
	paths, err := shadows.Paths(made)
	if err != nil {
		return nil, err
	}
	took := map[string]time.Duration{} // of the turn of each agent whose facts come now
	err = s.facts(persistence.Query{Kinds: []string{agentfact.FactModelAnswered, agentfact.FactTurnEnded}}, func(r protocol.Record, fact protocol.Fact) error {
		switch x := fact.(type) {
		case *agentfact.ModelAnswered:
			if !x.Cut() {
				took[r.Actor] += x.Latency
			}
		case *agentfact.TurnEnded:
			paths.Add(chain.Turn{Agent: x.Agent, Class: int(made.Class[x.Agent]), Wave: x.Wave, At: int64(r.Time), Times: chain.Times{Took: took[r.Actor]}})
			delete(took, r.Actor)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	shown := paths.Show()
	c := &CriticalPath{Scene: s.ID, Modelled: rundir.Critical(&shown, made.Name, made.Profile), Dropped: s.journal.Begin().Last}
	c.Measured, c.Missing = s.measured()
	return c, nil
}

// measured reads the times of the wall clock out of the summary.
func (s *Scene) measured() (*rundir.CriticalPath, string) {
	sum, err := s.run.Summary()
	switch {
	case err != nil:
		return nil, "summary.json: " + err.Error()
	case sum == nil:
		return nil, "the run has no summary.json: it goes on, or was killed; a resumed run writes one when it stops, with the calls of that process"
	}
	for _, one := range sum.All() {
		if one.Scene == s.ID && one.Critical != nil {
			return one.Critical, ""
		}
	}
	return nil, "summary.json has none: models answered at once, or an older program wrote it"
}
