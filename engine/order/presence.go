package order

import (
	"slices"

	"tavernsim/engine/agent/direct"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/cast"
	"tavernsim/engine/script"
	"tavernsim/engine/space"
	"tavernsim/protocol"
)

// Spawn lets agents come.
type Spawn struct{ cast.Coming }

// Remove takes agents out of the scene.
type Remove struct{ Agents cast.Selectors }

func (r *reader) presence(kind string, p tool.Params) error {
	var c Change
	if kind == cast.Spawn {
		who, err := direct.Coming(p)
		if err != nil {
			return err
		}
		c = &Spawn{*who}
	} else {
		agents, err := direct.Agents(p)
		if err != nil {
			return err
		}
		c = &Remove{agents}
	}
	r.plan.Stage = append(r.plan.Stage, c)
	return nil
}

// ComesOrGoes reports whether a change lets agents come or go. The services hear of that before
// they decide about a wave, so a script asks for it one tick later.
func ComesOrGoes(c Change) bool {
	switch c.(type) {
	case *Spawn, *Remove, *Travel:
		return true
	}
	return false
}

// Fits checks the changes of an order that let agents come or go, when it is carried out.
func (p *Plan) Fits(sc Scene) error {
	return checkAll(slices.DeleteFunc(slices.Clone(p.Stage), func(c Change) bool { return !ComesOrGoes(c) }), sc)
}

// Leaves reports whether the order takes an agent out of the scene, or sends it to another one.
func (p *Plan) Leaves(sc script.Cast, o uint32) bool {
	return slices.ContainsFunc(p.Stage, func(c Change) bool {
		switch x := c.(type) {
		case *Remove:
			return slices.Contains(sc.Members(x.Agents), o)
		case *Travel:
			return slices.Contains(sc.Members(x.Agents), o)
		}
		return false
	})
}

// Check implements Change.
func (r *Spawn) Check(sc Cast) error {
	who, err := sc.Comers(&r.Coming, nil)
	if running, ok := sc.(Scene); ok && err == nil && sc.InSpace() {
		return running.CheckMove(entrances(running, who))
	}
	return err
}

// entrances ask the service of space to put those who come where they begin.
func entrances(sc Scene, who []uint32) (list []space.Request) {
	for _, o := range who {
		if q, is := Entrance(sc, o, &cast.Request{}); is {
			list = append(list, q)
		}
	}
	return list
}

// Entrance is the request that puts an agent where it begins; false = it is nowhere.
func Entrance(sc interface {
	Begins(ordinal uint32) string
	Name(ordinal uint32) string
}, o uint32, q *cast.Request) (space.Request, bool) {
	to := sc.Begins(o)
	return space.Request{ID: q.ID, By: q.By, Agent: sc.Name(o), To: to, Reason: q.Reason, Put: true}, to != ""
}

func (r *Spawn) facts(sc Scene, q *cast.Request) (list []protocol.Fact) {
	who, err := sc.Comers(&r.Coming, nil)
	if err != nil { // it was checked with the changes before it
		return nil
	}
	state := protocol.Encode(nil)
	if len(r.State) > 0 {
		state = protocol.Encode(r.State)
	}
	for _, o := range who {
		list = append(list, sc.Entrance(o, state, q))
	}
	return list
}

func (r *Remove) Check(sc Cast) error {
	if err := sc.MayLeave(); err != nil {
		return err
	}
	_, err := members(sc, r.Agents)
	return err
}

func (r *Remove) facts(sc Scene, q *cast.Request) (list []protocol.Fact) {
	for _, o := range sc.Members(r.Agents) {
		list = append(list, sc.Exit(o, q)...)
	}
	return list
}

// claims is a scene as the changes of one list find it while they are checked: an agent
// that one of them lets come does not come by the next.
type claims struct {
	Scene
	taken map[uint32]bool
}

// Comers implements Cast.
func (c *claims) Comers(who *cast.Coming, _ map[uint32]bool) ([]uint32, error) {
	list, err := c.Scene.Comers(who, c.taken)
	for _, o := range list {
		c.taken[o] = true
	}
	return list, err
}
