package setup

import (
	"slices"

	"tavernsim/engine/cast"
	"tavernsim/engine/panel"
	"tavernsim/protocol"
)

// Describe adds to a question what the scene says of it: who may answer, the title of the action,
// and what its panel is bound to.
func (s *Scene) Describe(q *panel.Asked) {
	q.Players = s.Players(q.Agent, q.Panel)
	for _, p := range s.Def.Definition.AssociatedPanels {
		if x, ok := s.Project.Panel(p.PanelID); ok && p.Name() == q.Panel {
			q.Title, q.Bindings = x.Actions[q.Action].Title, p.DefaultBindings
		}
	}
}

// Players are the names of those who may answer a question of an agent on a panel, sorted;
// none = everybody may.
func (s *Scene) Players(agent, panel string) (names []string) {
	def := s.Def.Definition
	for _, p := range def.AssociatedPanels {
		if p.Name() == panel {
			names = append(names, p.Players...)
		}
	}
	if o, ok := s.find(agent); ok {
		m := s.Member(uint32(o))
		for _, name := range protocol.SortedKeys(def.Players) {
			if of, err := cast.ParseAll(def.Players[name]); err == nil && of.Match(&m) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
