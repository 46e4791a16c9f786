package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/cast"
	"tavernsim/engine/order"
	"tavernsim/engine/script/turns"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// now is the scene as changes of the stage find it (engine/order).
type now struct {
	*setup.Scene
	*agenda.State
	stage *Stage
}

// GiveTurns implements order.Scene.
func (n now) GiveTurns(by string, agents []uint32, count int64) (*turns.Began, *turns.Granted, error) {
	if n.stage.Turns == nil {
		return nil, nil, turns.ErrNone()
	}
	return n.stage.Turns.Give(n.stage.turnInput(), by, agents, count)
}

// change carries out what somebody changes about the stage itself.
func (s *Stage) change(list []order.Change, q *cast.Request) error {
	return order.CarryOut(list, now{s.scene, s.Agenda, s}, q, s.keepOwn)
}

// directed carries out what directors ask for in the open wave: after its turns are merged,
// before the services decide.
func (s *Stage) directed() error {
	asked := s.wave.asked
	s.wave.asked = nil
	for _, raw := range asked {
		q, err := cast.ReadRequest(raw)
		if err != nil {
			return err
		}
		refused, err := order.Direct(now{s.scene, s.Agenda, s}, q, s.keepOwn)
		if err != nil {
			return err
		}
		if refused {
			s.tell(&s.wave.told, q.By, protocol.KindData{Kind: agenda.FactNotChanged, Data: s.effects[len(s.effects)-1].Data})
		}
	}
	return nil
}
