package setup

import (
	"slices"

	"tavernsim/engine/cast"
	"tavernsim/protocol"
)

// Players are the names of those who may answer a question of an agent on a panel, sorted;
// none = everybody may.
func (s *Scene) Players(agent, panel string) (names []string) {
	def := s.Def.Definition
	for _, p := range def.AssociatedPanels {
		if p.InstanceName == panel || p.InstanceName == "" && p.PanelID == panel {
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
