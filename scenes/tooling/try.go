package tooling

import (
	"context"

	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling/trial"
	"tavernsim/tools"
)

// Find finds a tool of a project by an id as models may write it.
func Find(p *project.Project, id string) (*project.Tool, error) { return trial.Find(p, id) }

// Try makes one call outside of a scene, if the policy of the options allows it. Wrong
// parameters are a result, too. With Live each Try has keys of its own, as a turn has; mocks and recorded
// answers see the first turn. The workflow of a tool runs as far as no agent is needed.
func (s *Set) Try(ctx context.Context, t *project.Tool, params map[string]any, retries int) tools.Result {
	turn := uint64(1)
	if s.mode() == Live {
		turn = s.tries.Add(1)
	}
	return trial.Try(ctx, trial.Options{Project: s.opt.Project, Policy: s.opt.Policy, Profile: s.opt.Profile, Turn: turn, Waits: s.mode() == Live, Stands: func(id string) bool { return s.tools[id] != nil }, Call: s.Call, Audit: s.opt.Audit}, t, params, retries)
}

// Mask takes the secrets of the set out of a value. The error says that it spells one in
// another form, and must not be shown.
func (s *Set) Mask(v any) (any, error) {
	out, _, err := s.held().Store().Value(v)
	return out, err
}
