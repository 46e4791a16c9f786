package machines

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/budget"
	"tavernsim/protocol"
	"tavernsim/protocol/grown"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/ordered"
	"tavernsim/scenes/machines/tally"
)

// Agenda names the part of a snapshot with the state of the stage. The agent that
// runs the scene's workflows has a part like any other agent.
const Agenda = setup.ActorScene + "/agenda"

// SceneSnapshot is the kept state of the stage. It ends behind the last field that the scene has, and
// never within the first two, nor between budgets and what refused them.
type SceneSnapshot struct {
	Agenda    protocol.Raw
	Tally     tally.Tally
	Ledgers   []budget.Kept
	Exhausted string
	Roster    []byte        // packed; none = it is not known
	Script    protocol.Raw  // none = there is none
	Turns     []byte        // encoded; none = the scene has none
	Travel    protocol.Raw  // none = nobody has travelled
	Edition   protocol.Raw  // none = plugins were not read again
	Orders    *ordered.List // nil = they are not known
	Seed      *uint64       // nil = it is not known
}

// fields is how many of them are written.
func (s *SceneSnapshot) fields(budgets bool) int {
	switch {
	case s.Seed != nil:
		return 11
	case s.Orders != nil:
		return 10
	case s.Edition != nil:
		return 9
	case s.Travel != nil:
		return 8
	case s.Turns != nil:
		return 7
	case s.Script != nil:
		return 6
	case s.Roster != nil:
		return 5
	case budgets:
		return 4
	}
	return 2
}

// EncodeScene encodes the kept state of the stage.
func (s *StageState) EncodeScene() (protocol.Raw, error) {
	return s.encode(SceneSnapshot{Roster: s.Roster.Pack(), Orders: &s.Ordered, Seed: s.Seed})
}

// encode adds to a snapshot what each has.
func (s *StageState) encode(snap SceneSnapshot) (protocol.Raw, error) {
	snap.Tally = s.Tally
	snap.Ledgers, snap.Exhausted = s.Spending.Kept()
	var errs [5]error
	snap.Agenda, errs[0] = s.Agenda.Snapshot(s.codec)
	if s.script != nil {
		snap.Script, errs[1] = s.script.State.Snapshot(s.codec)
	}
	snap.Turns, errs[2] = s.Turns.Snapshot(s.codec)
	snap.Travel, errs[3] = s.Travel.Snapshot(s.codec)
	snap.Edition, errs[4] = s.keepEdition()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return grown.Marshal(s.codec, &snap, snap.fields(s.Spending != nil))
}

// Load restores one actor's state from a snapshot.
func (s *State) Load(name string, raw []byte) (err error) {
	sc := s.scene
	for i, k := range s.services {
		if k.Actor() == name {
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
	if err := s.StageState.Load(raw); err != nil {
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
// [State.Load] takes; not the roster, the orders and the seed, which a fold from an older snapshot does not know.
func (s *State) Parts(yield func(name string, raw []byte)) error {
	part := func(name string, raw []byte, err error) error {
		if err == nil {
			yield(name, raw)
		}
		return err
	}
	own, err := s.encode(SceneSnapshot{})
	if err := part(Agenda, own, err); err != nil {
		return err
	}
	for i, service := range s.Services {
		raw, err := service.Snapshot(s.codec)
		if raw == nil && err == nil {
			continue // it keeps nothing in this scene
		}
		if err := part(s.services[i].Actor(), raw, err); err != nil {
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
