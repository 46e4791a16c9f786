package setup

import (
	"slices"

	"tavernsim/engine/cast"
	"tavernsim/engine/script/turns"
	"tavernsim/protocol"
)

// orders makes the orders of turns of the scene and of the states of its script. A scene
// without turns whose states have some has a free order in the others.
func (s *Scene) orders() (err error) {
	if s.Turns, err = s.TurnsOf(s.Def.Definition.Turns); err != nil || s.Def.Definition.Script == nil {
		return err
	}
	s.StateTurns = map[string]*turns.Rules{}
	for _, state := range s.Def.Definition.Script.States {
		if state.Turns == nil {
			continue
		}
		if s.StateTurns[state.ID], err = s.TurnsOf(state.Turns); err != nil {
			return err
		}
		if s.Turns == nil {
			if s.Turns, err = s.TurnsOf(&turns.Turns{Policy: turns.Free}); err != nil {
				return err
			}
		}
	}
	return nil
}

// TurnsIn are the rules that hold in a state of the script.
func (s *Scene) TurnsIn(state string) *turns.Rules {
	if r := s.StateTurns[state]; r != nil {
		return r
	}
	return s.Turns
}

// TurnsOf compiles an order of turns for the agents of the scene: that of the scene, or that
// of a state of its script. nil = every agent that is due has a turn.
func (s *Scene) TurnsOf(d *turns.Turns) (*turns.Rules, error) {
	if d == nil {
		return nil, nil
	}
	var members []uint32
	if d.Policy != turns.Free {
		var err error
		if members, err = s.inTurns(d); err != nil {
			return nil, err
		}
	}
	if s.Blocks && len(members) > 0 {
		return nil, protocol.Errorf(protocol.KindInvalid, "scene %s: turns and lanes of inboxes with the policy block: a publisher would wait for receivers that wait for their turn; use another policy of the lanes", s.ID)
	}
	r, err := turns.New(*d, members)
	if err != nil {
		return nil, s.Errorf("%w", err)
	}
	return r, nil
}

// inTurns are the participants in their order: order first, then the others as declared.
func (s *Scene) inTurns(d *turns.Turns) (list []uint32, err error) {
	participants := d.Participants
	if len(participants) == 0 {
		participants = []string{"*"}
	}
	in, err := s.meant(participants)
	if err != nil {
		return nil, err
	}
	if len(d.Participants) == 0 && d.Policy == turns.Director {
		in = slices.DeleteFunc(in, func(o uint32) bool { return s.May(s.Name(o), cast.Direct) })
	}
	for _, text := range d.Order {
		meant, err := s.meant([]string{text})
		if err != nil {
			return nil, err
		}
		for _, o := range meant {
			if _, is := slices.BinarySearch(in, o); !is {
				return nil, protocol.Errorf(protocol.KindInvalid, "scene %s: turns.order: %s is none of the participants", s.ID, s.Name(o))
			}
		}
		list = append(list, meant...)
	}
	seen := map[uint32]bool{}
	return slices.DeleteFunc(append(list, in...), func(o uint32) bool {
		was := seen[o]
		seen[o] = true
		return was
	}), nil
}

// meant are the ordinals of the agents that selectors mean, ascending.
func (s *Scene) meant(texts []string) ([]uint32, error) {
	selectors, err := cast.ParseAll(texts)
	return s.Members(selectors), err
}

// AgentValue is an agent as expressions about the scene read it. It never changes.
func (s *Scene) AgentValue(o uint32) map[string]any {
	return map[string]any{"instance_id": s.Name(o), "profile_id": s.Profile(o), "ordinal": int64(o), "initial_private_state": s.initial(o)}
}
