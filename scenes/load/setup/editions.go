package setup

import (
	"sync"

	"tavernsim/protocol"
)

// Editions are what the project of a scene became by reloads, compiled as the scene itself: they
// differ from it in the tools of plugins alone. A run adds one while others read.
type Editions struct {
	mu   sync.Mutex
	list map[uint64]*Scene
}

// Add adds one. Its number is at least 2.
func (e *Editions) Add(number uint64, s *Scene) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.list == nil {
		e.list = map[uint64]*Scene{}
	}
	e.list[number] = s
}

// Drop takes one away that no fact names.
func (e *Editions) Drop(number uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.list, number)
}

// Find finds one, of which a fact or an order says the hash of its inputs.
func (e *Editions) Find(number uint64, project string) (*Scene, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.list[number]
	if s == nil || s.Project.Hash() != project {
		return nil, protocol.Errorf(protocol.KindCorrupt, "the edition %d of the plugins (inputs %s) is not there; a run directory has it in editions/%d", number, protocol.Short(project, 12), number)
	}
	return s, nil
}

// Fits refuses an edition that is no such one.
func (s *Scene) Fits(of *Scene) error {
	if len(of.IDs) != len(s.IDs) || len(of.Definitions) != len(s.Definitions) {
		return protocol.Errorf(protocol.KindConflict, "the scene %s has other agents in it", s.ID)
	}
	for i, d := range s.Definitions {
		if of.Definitions[i].Profile != d.Profile {
			return protocol.Errorf(protocol.KindConflict, "the scene %s has other profiles in it", s.ID)
		}
	}
	return nil
}
