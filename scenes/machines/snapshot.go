package machines

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/budget"
	"tavernsim/protocol"
	"tavernsim/protocol/grown"
	"tavernsim/scenes/load/setup"
)

// Agenda names the part of a snapshot with the state of the stage. The agent that
// runs the scene's workflows has a part like any other agent.
const Agenda = setup.ActorScene + "/agenda"

// SceneSnapshot is the kept state of the stage. Without budgets it ends behind the tally.
type SceneSnapshot struct {
	Agenda    protocol.Raw
	Tally     Tally
	Ledgers   []budget.Kept
	Exhausted string
}

type sceneWithoutBudgets struct {
	Agenda protocol.Raw
	Tally  Tally
}

// EncodeScene encodes the kept state of the stage.
func (s *Stage) EncodeScene() (protocol.Raw, error) {
	d, err := s.Agenda.Snapshot(s.codec)
	if err != nil {
		return nil, err
	}
	if s.spending == nil {
		return s.codec.Marshal(&sceneWithoutBudgets{d, s.Tally})
	}
	return s.codec.Marshal(&SceneSnapshot{Agenda: d, Tally: s.Tally, Ledgers: s.spending.Kept(), Exhausted: s.spending.exhausted})
}

// NoteEvery is how many facts lie between two tallies in the notes of a journal, and at
// most the rest of a wave. So few facts are read to know the tally of a scene.
const NoteEvery = 1 << 15

// note encodes the tally if it is due: nil = it is not.
func (s *Stage) note() (protocol.Raw, error) {
	if s.Tally.Facts-s.noted < NoteEvery {
		return nil, nil
	}
	s.noted = s.Tally.Facts
	return s.codec.Marshal(&s.Tally)
}

// ReadTally reads the note of a wave.
func ReadTally(codec *protocol.Codec, note []byte) (Tally, error) {
	var t Tally
	err := grown.Unmarshal(codec, note, &t)
	t.fill()
	return t, err
}

// Load restores one actor's state from a snapshot.
func (s *State) Load(name string, raw []byte) (err error) {
	sc := s.scene
	for i, k := range s.services {
		if k.Actor == name {
			return s.Services[i].Load(s.codec, raw)
		}
	}
	switch name {
	case Agenda:
		err = s.loadScene(raw)
	default:
		o, ok := sc.Ordinal(name)
		if !ok {
			return protocol.Errorf(protocol.KindCorrupt, "scene %s: the snapshot holds the state of %q, which is no agent of the scene", sc.ID, name)
		}
		s.Agents[o].State, err = agent.Restore(s.codec, raw)
		s.heardSoFar(o)
	}
	return err
}

func (s *State) loadScene(raw []byte) error {
	var snap SceneSnapshot
	if err := grown.Unmarshal(s.codec, raw, &snap); err != nil {
		return err
	}
	d, err := agenda.Restore(s.scene.AgendaConfig(), s.codec, snap.Agenda)
	if err != nil {
		return err
	}
	s.Agenda, s.Tally = d, snap.Tally
	s.Tally.fill()
	if s.spending != nil {
		s.spending.Restore(snap.Ledgers)
		s.spending.exhausted = snap.Exhausted
	}
	for o := range s.Agents {
		s.heardSoFar(uint32(o))
	}
	return nil
}

// heardSoFar copies the number of events that have reached an agent into the agenda.
// Load calls it after either side, so the order of parts is free.
func (s *State) heardSoFar(o uint32) {
	a := &s.Agents[o].State
	s.Agenda.HeardSoFar(o, a.Heard(), a.LastHeard)
}

// Hash is the SHA-256, in hex, over the state of every machine as a snapshot holds it.
func (s *State) Hash() (string, error) {
	h := sha256.New()
	err := s.Parts(func(name string, raw []byte) {
		fmt.Fprintf(h, "%s %d\n", name, len(raw))
		h.Write(raw)
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// Parts encodes the state of every machine, in a fixed order, under the names that
// [State.Load] takes.
func (s *State) Parts(yield func(name string, raw []byte)) error {
	part := func(name string, raw []byte, err error) error {
		if err == nil {
			yield(name, raw)
		}
		return err
	}
	own, err := s.EncodeScene()
	if err := part(Agenda, own, err); err != nil {
		return err
	}
	for i, service := range s.Services {
		raw, err := service.Snapshot(s.codec)
		if err := part(s.services[i].Actor, raw, err); err != nil {
			return err
		}
	}
	for _, m := range s.Agents {
		a, err := agent.Snapshot(s.codec, &m.State)
		if err := part(m.ID.Instance, a, err); err != nil {
			return err
		}
	}
	return nil
}
