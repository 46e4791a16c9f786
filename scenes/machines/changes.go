package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/cast"
	"tavernsim/engine/order"
	"tavernsim/engine/script"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/space"
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

// CheckMove implements order.Scene.
func (n now) CheckMove(list []space.Request) error { return n.stage.View.Space().Check(list) }

// Move implements order.Scene.
func (n now) Move(list []space.Request) {
	for i := range list {
		n.stage.sequence([]protocol.Sequenced{{To: space.Service, Data: list[i].AppendMsg(nil)}})
	}
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
		p, err := order.Direct(now{s.scene, s.Agenda, s}, q, s.led, s.keepOwn)
		switch {
		case err != nil:
			return err
		case p == nil:
			s.tell(&s.wave.told, q.By, protocol.KindData{Kind: agenda.FactNotChanged, Data: s.effects[len(s.effects)-1].Data})
		case p.Outcome != nil:
			err = s.keepOwn(p.Outcome)
		case p.Set != nil || p.To != "":
			s.wave.given = append(s.wave.given, script.Given{Set: p.Set, To: p.To, Why: "director " + q.By})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// led refuses what a director wants of the script and cannot have.
func (s *Stage) led(p *order.Plan) error {
	if s.script != nil && s.script.State.Outcome != nil && s.script.State.Outcome.Ends {
		return protocol.Errorf(protocol.KindConflict, "the scene has its outcome and ends")
	}
	return checkScript(s.scene, p)
}
