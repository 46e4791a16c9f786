package machines

import (
	"strings"

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

// changes are what an order, a letter, directors and the script change in the open wave beside the world: who is
// there, who rests, the script.
type changes struct {
	*record
	ordered *order.Plan    // events of an order, published when the world has agreed; nil = none
	orderBy *cast.Request  // its id and reason
	orderer string         // its author
	given   []script.Given // of that order and of directors, for the script
	heard   []*bus.Routed  // of types that the script hears of
	leaving leaving        // for other scenes
}

// now is the scene as changes of the stage find it (engine/order).
type now struct {
	order.Setting
	*agenda.State
	changes *changes
}

// Entrance implements order.Scene.
func (n now) Entrance(o uint32, state protocol.Raw, q *cast.Request) *agenda.Spawned {
	f := &agenda.Spawned{Agent: o, State: state, ID: q.ID, By: q.By, Reason: q.Reason}
	f.Turns, _ = n.changes.numbered(o, 0)
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
func (c *changes) keepChange(f protocol.Fact) error {
	if err := c.keepOwn(f); err != nil {
		return err
	}
	p, moved := presenceOf(f)
	switch {
	case !moved:
		return nil
	case !p.here:
		return c.leaves(p, f)
	}
	c.effect(Effect{Act: ActStart, Agent: p.agent, Fact: f, At: c.time})
	c.asking.first(bus.Service, (&bus.Presence{Agent: p.agent, Here: true}).AppendMsg(nil))
	c.announce(f)
	if q, is := order.Entrance(c.scene, p.agent, &cast.Request{ID: "come/" + c.scene.Name(p.agent), By: p.by, Reason: p.reason}); is {
		c.sequence([]protocol.Sequenced{{To: space.Service, Data: q.AppendMsg(nil)}})
	}
	return nil
}

func (c *changes) leaves(p presence, f protocol.Fact) error {
	id := c.scene.Name(p.agent)
	if v := c.View.Space(); v != nil {
		if _, _, on := v.Where(p.agent); on {
			q := space.Request{ID: "leave/" + id, By: p.by, Agent: id, To: ground.Gone, Reason: p.reason, Put: true}
			c.sequence([]protocol.Sequenced{{To: space.Service, Data: q.AppendMsg(nil)}})
		}
	}
	c.effect(Effect{Act: ActStop, Agent: p.agent})
	c.asking.first(bus.Service, (&bus.Presence{Agent: p.agent}).AppendMsg(nil))
	leave := worldstate.Request{Kind: worldstate.Leave, Change: world.Request{ID: "leave/" + id, By: id}}
	tasks := tooltask.Request{Leave: true, Task: tooltask.Task{Agent: id}}
	c.sequence([]protocol.Sequenced{{To: worldstate.Service, Data: leave.AppendMsg(nil)}, {To: tooltask.Service, Data: tasks.AppendMsg(nil)}})
	c.announce(f)
	c.flight.abandon(p.agent)
	return c.turnCut(p.agent, true)
}

// GiveTurns implements order.Scene.
func (n now) GiveTurns(by string, agents []uint32, count int64) (*turns.Began, *turns.Granted, error) {
	if n.changes.Turns == nil {
		return nil, nil, turns.ErrNone()
	}
	return n.changes.Turns.Give(n.changes.turnInput(), by, agents, count)
}

// CheckMove implements order.Scene.
func (n now) CheckMove(list []space.Request) error { return n.changes.View.Space().Check(list) }

// Request implements order.Scene.
func (n now) Request(list []protocol.Sequenced) { n.changes.sequence(list) }

// Asking implements order.Cast.
func (n now) Asking() (complete func(*panel.Question) error, open int) {
	complete, _ = n.changes.scene.Asking()
	tasks := n.changes.questions()
	return complete, tasks.AskedBy(setup.ActorScene)
}

func (c *changes) asItIs() now { return now{c.people(), c.Agenda, c} }

// directed carries out what directors ask for in the open wave: after its turns are merged,
// before the services decide.
func (c *changes) directed() error {
	list := c.asked
	c.asked = nil
	for _, a := range list {
		if a.came != nil {
			if err := c.takeOver(a.came); err != nil {
				return err
			}
			continue
		}
		q, err := cast.ReadRequest(a.request)
		if err != nil {
			return err
		}
		p, err := order.Direct(c.asItIs(), q, c.led, c.keepChange)
		switch {
		case err != nil:
		case p == nil:
			c.tellLast(q.By, agenda.FactNotChanged)
		case p.Outcome != nil:
			err = c.keepOwn(p.Outcome)
		case p.Set != nil || p.To != "":
			c.given = append(c.given, script.Given{Set: p.Set, To: p.To, Why: whyDirector + q.By})
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

// asked is what a director asks of the stage, or for verify a fact that came of it: a history does not keep what a
// turn asks for. Verify decides the turn again to know it. Where it cannot, it gives the stage, in the place of the
// requests, the facts that came of them (span.Turn.Came).
type asked struct {
	request protocol.Raw
	came    protocol.Fact
}

// takeOver carries out what a fact tells of.
func (c *changes) takeOver(f protocol.Fact) error {
	switch x := f.(type) {
	case *agenda.Removed:
		for _, f := range c.asItIs().Exit(x.Agent, &cast.Request{ID: x.ID, By: x.By, Reason: x.Reason}) {
			if err := c.keepChange(f); err != nil {
				return err
			}
		}
		return nil
	case *travel.Departed: // with the state that its agent gives
		if link, err := c.people().LinkTo(x.To); err == nil {
			c.asItIs().Leave(x.Agent, link, &cast.Request{ID: x.ID, By: x.By, Reason: x.Reason})
		}
		return nil
	case *script.Set: // it follows when the script looks
		v, err := x.Value.Value()
		c.given = append(c.given, script.Given{Set: map[string]any{x.Variable: v}, Why: x.Why})
		return err
	case *script.Entered:
		c.given = append(c.given, script.Given{To: x.State, Why: x.Why})
		return nil
	}
	return c.keepChange(f)
}

// ByDirector is the director that a fact of the script names as its reason; "" = it names none.
func ByDirector(why string) string {
	name, by := strings.CutPrefix(why, whyDirector)
	if !by {
		return ""
	}
	return name
}

const whyDirector = "director "
