package setup

import (
	"cmp"
	"strings"
	"tavernsim/engine/panel"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/stand"
)

// panels completes questions of agents to people: agent.Definition.Panel. nil = nobody can
// be asked, and no panel of the scene answers by itself.
func (b *builder) panels() func(*panel.Question) error {
	of := map[string]*project.Panel{}
	first, answers := "", b.Interactive
	for _, p := range b.Def.Definition.AssociatedPanels {
		name := p.Name()
		if x, ok := b.Project.Panel(p.PanelID); ok {
			of[name] = x
			answers = answers || x.Alone.Given
			if first == "" {
				first = name
			}
		}
	}
	if !answers {
		return nil
	}
	interactive, workflows := b.Interactive, b.Project
	return func(q *panel.Question) error {
		if q.Panel == "" {
			q.Panel = first
		}
		p := of[q.Panel]
		switch {
		case p != nil:
		case q.Panel != "":
			return protocol.Errorf(protocol.KindNotFound, "panel: the scene has no panel %q; it has %s", protocol.Short(q.Panel, 80), cmp.Or(strings.Join(protocol.SortedKeys(of), ", "), "none"))
		default: // a scene without panels has the built-in actions
			p = &project.Panel{}
		}
		if !interactive {
			if !p.Alone.Given {
				return protocol.Errorf(protocol.KindUnknown, "no application panel is connected to this run")
			}
			alone := p.Alone
			if alone.Workflow != "" {
				w, _ := workflows.Workflow(alone.Workflow)
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
