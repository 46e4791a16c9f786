package setup

import "tavernsim/protocol"

// Editions are what the project of a scene became by reloads, compiled as the scene itself: they
// differ from it in the tools of plugins alone.
type Editions interface {
	Edition(number uint64) *Scene // nil = there is none
}

// Edition finds one, of which a fact or an order says the hash of its inputs.
func (s *Scene) Edition(number uint64, project string) (found *Scene, err error) {
	if s.Editions != nil {
		found = s.Editions.Edition(number)
	}
	if found == nil || found.ProjectHash != project {
		return nil, protocol.Errorf(protocol.KindCorrupt, "the edition %d of the plugins (inputs %s) is not there; a run directory has it in editions/%d", number, protocol.Short(project, 12), number)
	}
	return found, nil
}

// Fits refuses an edition that is no such one.
func (s *Scene) Fits(of *Scene) error {
	if of.Len() != s.Len() || len(of.Definitions) != len(s.Definitions) {
		return protocol.Errorf(protocol.KindConflict, "the scene %s has other agents in it", s.ID)
	}
	for i, d := range s.Definitions {
		if of.Definitions[i].Profile != d.Profile {
			return protocol.Errorf(protocol.KindConflict, "the scene %s has other profiles in it", s.ID)
		}
	}
	return nil
}
