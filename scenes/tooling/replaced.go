package tooling

import (
	"context"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/scenes/tooling/overrides"
	"tavernsim/tools"
	"tavernsim/tools/plugin"
)

// replaced finds the services that replace something. Nothing is replaced where no program is
// started: with mocks, recorded answers, and without tools.
func (s *Set) replaced() error {
	if s.mode() != Live {
		return nil
	}
	s.over = overrides.Of(s.opt.Project)
	for _, name := range protocol.SortedKeys(s.over) {
		if s.opt.Sandbox == nil {
			return protocol.Errorf(protocol.KindNotFound, "%s, and this program has no sandbox for it (runner.Options.Sandbox); run with --tools mock", s.over[name])
		}
	}
	if w := s.over[plugin.OfSecretStore]; w != nil {
		s.kept = &overrides.Secrets{Winner: w, Services: s.services(), Held: s.held, Refused: func() error { return s.own.Refused(needs.OfPlugin(w.Plugin)) }}
	}
	return nil
}

// mayReplace refuses a scene in which something is replaced that the operator has not granted:
// to go on with what was to be replaced would be another scene.
func (s *Set) mayReplace(refused func(who string) error) error {
	for _, name := range protocol.SortedKeys(s.over) {
		if err := refused(needs.OfPlugin(s.over[name].Plugin)); err != nil {
			return protocol.Errorf(protocol.KindOf(err), "%s: %w", s.over[name], err)
		}
	}
	return nil
}

// Replaced are the services that replace something in the scene, by interface.
func (s *Set) Replaced() (list []*overrides.Winner) {
	if s == nil {
		return nil
	}
	for _, name := range protocol.SortedKeys(s.over) {
		list = append(list, s.over[name])
	}
	return list
}

// Services asks the services of the project, for a model that one of them replaces.
func (s *Set) Services() overrides.Asked {
	return overrides.Asked{Services: s.services(), Mask: s.Mask}
}

// asked lets a service be asked for leave in the place of a person.
func (s *Set) asked(l Leave) Leave {
	if w := s.over[plugin.OfApprover]; w != nil {
		l.Door = &overrides.Approver{Winner: w, Services: s.services(), People: l.Door, Mask: s.maskSaid}
	}
	return l
}

// withoutSecrets is a tool that a service carries out in the place of its executor: the
// options of its plugin are in their places, and those that are secret are empty.
func (s *Set) withoutSecrets(t *project.Tool) *project.Tool {
	own := *t
	own.Definition = t.Definition.Configured(s.openConfig(t.Plugin).Texts(), nil)
	return &own
}

// openConfig are the values of the options of a plugin that are no secrets.
func (s *Set) openConfig(name string) plugin.Config {
	open := plugin.Config{}
	for option, v := range s.told(name) {
		open[option] = plugin.Value{Value: v}
	}
	return open
}

// secretsFor gives a tool the secrets that it needs: of the operator's file, or of the service
// that replaces it.
func (s *Set) secretsFor(ctx context.Context, agent, tool string, names []string) (map[string]string, error) {
	if s.kept == nil || len(names) == 0 {
		return s.held().Granted(tool, names)
	}
	return s.kept.For(ctx, agent, tool, names)
}

// ownSecrets gives the session of an agent secrets that it names: those that a person gave to
// the agent, and else those of the store.
func (s *Set) ownSecrets(ctx context.Context, agent string, c *tools.Call, tool string, names []string) (map[string]string, error) {
	if s.kept == nil {
		return s.held().For(c.Owner, tool, names)
	}
	return s.kept.Own(ctx, c.Owner, agent, tool, names)
}
