package machines

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/budget"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/tally"
)

// Agenda names the part of a snapshot with the state of the stage. The agent that
// runs the scene's workflows has a part like any other agent.
const Agenda = setup.ActorScene + "/agenda"

// SceneSnapshot is the kept state of the stage. Without budgets, roster, turns and travel it ends
// behind the tally.
type SceneSnapshot struct {
	Agenda    protocol.Raw
	Tally     tally.Tally
	Ledgers   []budget.Kept
	Exhausted string
	Roster    []byte       // packed; none = it is not known
	Script    protocol.Raw // none = there is none
	Turns     []byte       // encoded; none = the scene has none
	Travel    protocol.Raw // none = nobody has travelled
	Edition   protocol.Raw // none = plugins were not read again
}

type sceneWithoutEdition struct {
	Agenda    protocol.Raw
	Tally     tally.Tally
	Ledgers   []budget.Kept
	Exhausted string
	Roster    []byte
	Script    protocol.Raw
	Turns     []byte
	Travel    protocol.Raw
}

type sceneWithoutTravel struct {
	Agenda    protocol.Raw
	Tally     tally.Tally
	Ledgers   []budget.Kept
	Exhausted string
	Roster    []byte
	Script    protocol.Raw
	Turns     []byte
}

type sceneWithoutTurns struct {
	Agenda    protocol.Raw
	Tally     tally.Tally
	Ledgers   []budget.Kept
	Exhausted string
	Roster    []byte
	Script    protocol.Raw
}

type sceneWithoutScript struct {
	Agenda    protocol.Raw
	Tally     tally.Tally
	Ledgers   []budget.Kept
	Exhausted string
	Roster    []byte
}

type sceneWithoutBudgets struct {
	Agenda protocol.Raw
	Tally  tally.Tally
}

type sceneWithoutRoster struct {
	Agenda    protocol.Raw
	Tally     tally.Tally
	Ledgers   []budget.Kept
	Exhausted string
}

// EncodeScene encodes the kept state of the stage.
func (s *Stage) EncodeScene() (protocol.Raw, error) { return s.encode(s.Roster.Pack()) }

func (s *Stage) encode(roster []byte) (protocol.Raw, error) {
	d, err := s.Agenda.Snapshot(s.codec)
	if err != nil {
		return nil, err
	}
	if s.spending == nil && roster == nil && s.script == nil && s.Turns == nil && s.Travel.Empty() && s.edition == nil {
		return s.codec.Marshal(&sceneWithoutBudgets{d, s.Tally})
	}
	snap := SceneSnapshot{Agenda: d, Tally: s.Tally, Roster: roster}
	if s.spending != nil {
		snap.Ledgers, snap.Exhausted = s.spending.Kept(), s.spending.exhausted
	}
	if s.script != nil {
		if snap.Script, err = s.script.State.Snapshot(s.codec); err != nil {
			return nil, err
		}
	}
	if snap.Turns, err = s.Turns.Snapshot(s.codec); err != nil {
		return nil, err
	}
	if snap.Travel, err = s.Travel.Snapshot(s.codec); err != nil {
		return nil, err
	}
	if snap.Edition, err = s.keepEdition(); err != nil {
		return nil, err
	}
	switch {
	case snap.Edition != nil:
		return s.codec.Marshal(&snap)
	case snap.Travel != nil:
		return s.codec.Marshal(&sceneWithoutEdition{snap.Agenda, snap.Tally, snap.Ledgers, snap.Exhausted, snap.Roster, snap.Script, snap.Turns, snap.Travel})
	case s.script != nil && snap.Turns == nil:
		return s.codec.Marshal(&sceneWithoutTurns{snap.Agenda, snap.Tally, snap.Ledgers, snap.Exhausted, snap.Roster, snap.Script})
	case snap.Turns != nil:
		return s.codec.Marshal(&sceneWithoutTravel{snap.Agenda, snap.Tally, snap.Ledgers, snap.Exhausted, snap.Roster, snap.Script, snap.Turns})
	case roster == nil:
		return s.codec.Marshal(&sceneWithoutRoster{snap.Agenda, snap.Tally, snap.Ledgers, snap.Exhausted})
	}
	return s.codec.Marshal(&sceneWithoutScript{snap.Agenda, snap.Tally, snap.Ledgers, snap.Exhausted, snap.Roster})
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
		m := s.Agent(o)
		if m.State, err = agent.Restore(s.codec, raw); err == nil {
			s.heardSoFar(o)
			if s.rest != nil && len(s.awake) > s.most {
				err = s.LayDown(Nobody)
			}
		}
	}
	return cmp.Or(err, s.unread)
}

func (s *State) loadScene(raw []byte) error {
	if err := s.Stage.Load(raw); err != nil {
		return err
	}
	if s.scene.Clock == agenda.Virtual {
		return nil // whose agenda does not ask
	}
	for o := range s.Agents {
		if s.heardSoFar(uint32(o)); s.rest != nil && len(s.awake) > s.most {
			if err := s.LayDown(Nobody); err != nil {
				return err
			}
		}
	}
	return nil
}

// heardSoFar copies the number of events that have reached an agent into the agenda.
// Load calls it after either side, so the order of parts is free.
func (s *State) heardSoFar(o uint32) {
	a := &s.Agent(o).State
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
// [State.Load] takes; not the roster, which a fold from an older snapshot does not know.
func (s *State) Parts(yield func(name string, raw []byte)) error {
	part := func(name string, raw []byte, err error) error {
		if err == nil {
			yield(name, raw)
		}
		return err
	}
	own, err := s.encode(nil)
	if err := part(Agenda, own, err); err != nil {
		return err
	}
	for i, service := range s.Services {
		raw, err := service.Snapshot(s.codec)
		if raw == nil && err == nil {
			continue // it keeps nothing in this scene
		}
		if err := part(s.services[i].Actor, raw, err); err != nil {
			return err
		}
	}
	for o := range s.Agents {
		if s.Agenda.Away(uint32(o)) {
			continue
		}
		m := s.Agent(uint32(o))
		a, err := agent.Snapshot(s.codec, &m.State)
		if err := part(m.ID.Instance, a, err); err != nil {
			return err
		}
	}
	return nil
}
