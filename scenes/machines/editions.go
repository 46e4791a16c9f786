package machines

import (
	"fmt"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// mayReload says why the scene does not go on with another edition of its plugins; "" = it does.
func (s *StageState) mayReload(f *agenda.PluginsChanged) string {
	switch {
	case !s.realtime():
		return "the scene has the virtual clock, so it is decided by what it began with; start another run"
	case f.Edition <= s.Edition():
		return fmt.Sprintf("the scene has the edition %d of its plugins already", s.Edition())
	}
	if _, err := s.scene.Edition(f.Edition, f.Project); err != nil {
		return err.Error()
	}
	tasks := s.questions()
	for _, t := range tasks.Open() {
		if slices.Contains(f.Tools, t.Tool) {
			return fmt.Sprintf("the task %s of the tool %s, which is another one now, is open; wait for it, or cancel it", t.ID, t.Tool)
		}
	}
	return ""
}

// reloaded folds that agents have the tools of another edition.
func (s *StageState) reloaded(f *agenda.PluginsChanged) error {
	e, err := s.scene.Edition(f.Edition, f.Project)
	if err != nil {
		return err
	}
	s.edition = &edition{f.Edition, f.Project, e}
	s.View = s.View.withEdition(s.edition)
	return nil
}

// edition is what the project became by a reload; nil = nothing was read again.
type edition struct {
	number  uint64
	project string
	scene   *setup.Scene
}

// Edition is that whose tools agents have, from 1.
func (s *StageState) Edition() uint64 {
	if s.edition == nil {
		return 1
	}
	return s.edition.number
}

// keptEdition is the edition in a snapshot.
type keptEdition struct {
	Number  uint64
	Project string
}

func (s *StageState) keepEdition() (protocol.Raw, error) {
	if s.edition == nil {
		return nil, nil
	}
	return s.codec.Marshal(&keptEdition{s.edition.number, s.edition.project})
}

func (s *StageState) loadEdition(raw protocol.Raw) error {
	if s.edition = nil; len(raw) == 0 {
		return nil
	}
	var k keptEdition
	if err := s.codec.Unmarshal(raw, &k); err != nil {
		return err
	}
	return s.reloaded(&agenda.PluginsChanged{Edition: k.Number, Project: k.Project})
}

func (v *View) withEdition(e *edition) *View {
	next := *v
	next.edition, next.Budget = e, nil
	return &next
}
