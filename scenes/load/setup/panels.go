package setup

import (
	"tavernsim/engine/panel"
	"tavernsim/protocol"
	"tavernsim/scenes/load/stand"
)

// panels completes questions of agents to people: agent.Definition.Panel. nil = nobody can
// be asked, and no panel of the scene answers by itself.
func (b *builder) panels() func(*panel.Question) error {
	answers := b.Interactive
	for _, p := range b.Def.Definition.AssociatedPanels {
		x, ok := b.Project.Panel(p.PanelID)
		answers = answers || ok && x.Alone.Given
	}
	if !answers {
		return nil
	}
	interactive, project, scene := b.Interactive, b.Project, b.Def
	return func(q *panel.Question) error {
		p, err := project.PanelFor(scene, q)
		if err != nil {
			return err
		}
		if !interactive {
			if !p.Alone.Given {
				return protocol.Errorf(protocol.KindUnknown, "no application panel is connected to this run")
			}
			alone := p.Alone
			if alone.Workflow != "" {
				w, _ := project.Workflow(alone.Workflow)
				v, err := stand.Answer(w.Plan, q)
				if err != nil {
					return err
				}
				alone.Value = v
			}
			q.Headless = &alone
		}
		return p.Complete(q)
	}
}
