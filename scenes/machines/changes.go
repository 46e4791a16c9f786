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
	wave *wave
}

// Entrance implements order.Scene.
func (n now) Entrance(o uint32, state protocol.Raw, q *cast.Request) *agenda.Spawned {
	f := &agenda.Spawned{Agent: o, State: state, ID: q.ID, By: q.By, Reason: q.Reason}
	f.Turns, _ = n.wave.numbered(o, 0)
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
func (w *wave) keepChange(f protocol.Fact) error {
	if err := w.keepOwn(f); err != nil {
		return err
	}
	switch x := f.(type) {
	case *agenda.Spawned:
		w.comes(x.Agent, x, x.By, x.Reason)
	case *agenda.Removed:
		return w.leaves(x.Agent, x, x.By, x.Reason)
	case *travel.Departed:
		return w.leaves(x.Agent, x, x.By, x.Reason)
	case *travel.Arrived:
		w.comes(x.Agent, x, travel.By, "")
	case *travel.Returned:
		w.comes(x.Agent, x, travel.By, "")
	}
	return nil
}

func (w *wave) comes(o uint32, f protocol.Fact, by, reason string) {
	w.effect(Effect{Act: ActStart, Agent: o, Fact: f, At: w.time})
	w.asking.first(bus.Service, (&bus.Presence{Agent: o, Here: true}).AppendMsg(nil))
	w.announce(f)
	if q, is := order.Entrance(w.scene, o, &cast.Request{ID: "come/" + w.scene.Name(o), By: by, Reason: reason}); is {
		w.sequence([]protocol.Sequenced{{To: space.Service, Data: q.AppendMsg(nil)}})
	}
}

func (w *wave) leaves(o uint32, f protocol.Fact, by, reason string) error {
	id := w.scene.Name(o)
	if v := w.View.Space(); v != nil {
		if _, _, on := v.Where(o); on {
			q := space.Request{ID: "leave/" + id, By: by, Agent: id, To: ground.Gone, Reason: reason, Put: true}
			w.sequence([]protocol.Sequenced{{To: space.Service, Data: q.AppendMsg(nil)}})
		}
	}
	w.effect(Effect{Act: ActStop, Agent: o})
	w.asking.first(bus.Service, (&bus.Presence{Agent: o}).AppendMsg(nil))
	leave := worldstate.Request{Kind: worldstate.Leave, Change: world.Request{ID: "leave/" + id, By: id}}
	tasks := tooltask.Request{Leave: true, Task: tooltask.Task{Agent: id}}
	w.sequence([]protocol.Sequenced{{To: worldstate.Service, Data: leave.AppendMsg(nil)}, {To: tooltask.Service, Data: tasks.AppendMsg(nil)}})
	w.announce(f)
	w.flight.abandon(o)
	return w.turnCut(o, true)
}

// GiveTurns implements order.Scene.
func (n now) GiveTurns(by string, agents []uint32, count int64) (*turns.Began, *turns.Granted, error) {
	if n.wave.Turns == nil {
		return nil, nil, turns.ErrNone()
	}
	return n.wave.Turns.Give(n.wave.turnInput(), by, agents, count)
}

// CheckMove implements order.Scene.
func (n now) CheckMove(list []space.Request) error { return n.wave.View.Space().Check(list) }

// Request implements order.Scene.
func (n now) Request(list []protocol.Sequenced) { n.wave.sequence(list) }

// Asking implements order.Cast.
func (n now) Asking() (complete func(*panel.Question) error, open int) {
	complete, _ = n.wave.scene.Asking()
	tasks := n.wave.questions()
	return complete, tasks.AskedBy(setup.ActorScene)
}

func (w *wave) asItIs() now { return now{w.people(), w.Agenda, w} }

// change carries out the changes of the stage itself that an order, a director or the script asks for.
func (w *wave) change(list []order.Change, q *cast.Request) error {
	return order.CarryOut(list, w.asItIs(), q, w.keepChange)
}

// directed carries out what directors ask for in the open wave: after its turns are merged,
// before the services decide.
func (w *wave) directed() error {
	list := w.asked
	w.asked = nil
	for _, a := range list {
		if a.came != nil {
			if err := w.takeOver(a.came); err != nil {
				return err
			}
			continue
		}
		q, err := cast.ReadRequest(a.request)
		if err != nil {
			return err
		}
		p, err := order.Direct(w.asItIs(), q, w.led, w.keepChange)
		switch {
		case err != nil:
			return err
		case p == nil:
			w.tellLast(q.By, agenda.FactNotChanged)
		case p.Outcome != nil:
			err = w.keepOwn(p.Outcome)
		case p.Set != nil || p.To != "":
			w.given = append(w.given, script.Given{Set: p.Set, To: p.To, Why: whyDirector + q.By})
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
