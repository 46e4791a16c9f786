package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/order"
	"tavernsim/engine/panel"
	"tavernsim/engine/script"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// now is the scene as changes of the stage find it (engine/order).
type now struct {
	order.Setting
	*agenda.State
	stage *Stage
}

// Entrance implements order.Scene.
func (n now) Entrance(o uint32, state protocol.Raw, q *cast.Request) *agenda.Spawned {
	f := &agenda.Spawned{Agent: o, State: state, ID: q.ID, By: q.By, Reason: q.Reason}
	f.Turns, _ = n.stage.numbered(o, 0)
	return f
}

// Exit implements order.Scene.
func (n now) Exit(o uint32, q *cast.Request) []protocol.Fact {
	f := &agenda.Removed{Agent: o, Unread: n.Unread(o), ID: q.ID, By: q.By, Reason: q.Reason}
	if f.Unread == 0 {
		return []protocol.Fact{f}
	}
	return []protocol.Fact{f, &agenda.DeadLettered{Reason: agenda.ReasonGone, Receiver: n.Name(o), Kind: protocol.KindEvent.String(), Count: f.Unread}}
}

// keepChange keeps what a change comes to. The services hear which agents come and leave before
// they decide about anything else of the wave.
func (s *Stage) keepChange(f protocol.Fact) error {
	if err := s.keepOwn(f); err != nil {
		return err
	}
	switch x := f.(type) {
	case *agenda.Spawned:
		s.comes(x.Agent, x, x.By, x.Reason)
	case *agenda.Removed:
		return s.leaves(x.Agent, x, x.By, x.Reason)
	case *travel.Departed:
		return s.leaves(x.Agent, x, x.By, x.Reason)
	case *travel.Arrived:
		s.comes(x.Agent, x, travel.By, "")
	case *travel.Returned:
		s.comes(x.Agent, x, travel.By, "")
	}
	return nil
}

func (s *Stage) comes(o uint32, f protocol.Fact, by, reason string) {
	s.effect(Effect{Act: ActStart, Agent: o, Fact: f, At: s.wave.time})
	s.tellFirst(bus.Service, (&bus.Presence{Agent: o, Here: true}).AppendMsg(nil))
	s.announce(f)
	if q, is := order.Entrance(s.scene, o, &cast.Request{ID: "come/" + s.scene.Name(o), By: by, Reason: reason}); is {
		s.sequence([]protocol.Sequenced{{To: space.Service, Data: q.AppendMsg(nil)}})
	}
}

func (s *Stage) leaves(o uint32, f protocol.Fact, by, reason string) error {
	id := s.scene.Name(o)
	if v := s.View.Space(); v != nil {
		if _, _, on := v.Where(o); on {
			q := space.Request{ID: "leave/" + id, By: by, Agent: id, To: ground.Gone, Reason: reason, Put: true}
			s.sequence([]protocol.Sequenced{{To: space.Service, Data: q.AppendMsg(nil)}})
		}
	}
	delete(s.broken, o)
	s.effect(Effect{Act: ActStop, Agent: o})
	s.tellFirst(bus.Service, (&bus.Presence{Agent: o}).AppendMsg(nil))
	leave := worldstate.Request{Kind: worldstate.Leave, Change: world.Request{ID: "leave/" + id, By: id}}
	tasks := tooltask.Request{Leave: true, Task: tooltask.Task{Agent: id}}
	s.sequence([]protocol.Sequenced{{To: worldstate.Service, Data: leave.AppendMsg(nil)}, {To: tooltask.Service, Data: tasks.AppendMsg(nil)}})
	s.announce(f)
	return s.abandon(o)
}

// tellFirst puts a request before those that turns made.
func (s *Stage) tellFirst(service string, request protocol.Raw) {
	for i := range s.services {
		if s.services[i].Name == service {
			s.requests[i].AddFirst(request)
		}
	}
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

// Request implements order.Scene.
func (n now) Request(list []protocol.Sequenced) { n.stage.sequence(list) }

// Asking implements order.Cast.
func (n now) Asking() (complete func(*panel.Question) error, open int) {
	complete, _ = n.stage.scene.Asking()
	tasks := n.stage.questions()
	return complete, tasks.AskedBy(setup.ActorScene)
}

func (s *Stage) asItIs() now { return now{s.people(), s.Agenda, s} }

// change carries out the changes of the stage itself that an order, a director or the script asks for.
func (s *Stage) change(list []order.Change, q *cast.Request) error {
	return order.CarryOut(list, s.asItIs(), q, s.keepChange)
}

// directed carries out what directors ask for in the open wave: after its turns are merged,
// before the services decide.
func (s *Stage) directed() error {
	list := s.wave.asked
	s.wave.asked = nil
	for _, a := range list {
		if a.came != nil {
			if err := s.takeOver(a.came); err != nil {
				return err
			}
			continue
		}
		q, err := cast.ReadRequest(a.request)
		if err != nil {
			return err
		}
		p, err := order.Direct(s.asItIs(), q, s.led, s.keepChange)
		switch {
		case err != nil:
			return err
		case p == nil:
			s.tell(&s.wave.told, q.By, protocol.KindData{Kind: agenda.FactNotChanged, Data: s.effects[len(s.effects)-1].Data})
		case p.Outcome != nil:
			err = s.keepOwn(p.Outcome)
		case p.Set != nil || p.To != "":
			s.wave.given = append(s.wave.given, script.Given{Set: p.Set, To: p.To, Why: whyDirector + q.By})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// led refuses what a director wants of the script and cannot have.
func (s *StageState) led(p *order.Plan) error {
	if s.script != nil && s.script.State.Outcome != nil && s.script.State.Outcome.Ends {
		return protocol.Errorf(protocol.KindConflict, "the scene has its outcome and ends")
	}
	return checkScript(s.scene, p)
}
