package order

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/cast"
	"tavernsim/engine/panel"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/space"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
)

// Change is a change that the stage itself makes, for an order from outside or for a director.
type Change interface {
	// Check refuses what cannot be carried out.
	Check(Cast) error
	// facts are those of a change that was checked; what is so already leaves none.
	facts(Scene, *cast.Request) []protocol.Fact
}

// Cast says who is meant.
type Cast interface {
	Members(cast.Selectors) []uint32 // ordinals, ascending
	InSpace() bool                   // agents are somewhere
	Begins(ordinal uint32) string    // where an agent comes in; "" = nowhere
	// Comers are the agents that would come, none of them taken, ascending; an error if they
	// cannot.
	Comers(who *cast.Coming, taken map[uint32]bool) ([]uint32, error)
	// Asking completes questions of the scene to people, as agent.Definition.Panel does; open are
	// those without an answer.
	Asking() (complete func(*panel.Question) error, open int)
	// Runs refuses a workflow that the scene cannot run with these inputs.
	Runs(workflow string, inputs map[string]any) error
	// MayLeave refuses a change that takes agents away where nobody comes or goes.
	MayLeave() error
	// LinkTo is the link to another scene.
	LinkTo(scene string) (*travel.Link, error)
}

// Scene is what changes are decided against.
type Scene interface {
	Cast
	Resting(ordinal uint32) bool
	// GiveTurns decides a grant from outside of the order of turns (engine/script/turns).
	GiveTurns(by string, agents []uint32, n int64) (*turns.Began, *turns.Granted, error)
	Name(ordinal uint32) string
	// Request asks services for something in the wave.
	Request([]protocol.Sequenced)
	// CheckMove says why the service of space would not move agents.
	CheckMove([]space.Request) error
	// Entrance and Exit are the facts of one who comes and of one who leaves.
	Entrance(ordinal uint32, state protocol.Raw, q *cast.Request) *agenda.Spawned
	Exit(ordinal uint32, q *cast.Request) []protocol.Fact
	// Leave lets an agent go to another scene. Its fact is kept when its state is known.
	Leave(ordinal uint32, over *travel.Link, q *cast.Request)
	// MayGo says why so many agents cannot go to other scenes now.
	MayGo(n int) error
}

// CarryOut decides changes that were checked, one after the other. keep keeps and applies a
// fact, before the next change is decided.
func CarryOut(changes []Change, sc Scene, q *cast.Request, keep func(protocol.Fact) error) error {
	for _, c := range changes {
		for _, f := range c.facts(sc, q) {
			if err := keep(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// Direct decides what a director asks for, as a whole or not at all: then it is refused, and
// there is no plan. The caller carries out what the plan wants of the script, which check has
// looked at.
func Direct(sc Scene, q *cast.Request, check func(*Plan) error, keep func(protocol.Fact) error) (*Plan, error) {
	p, err := Read(q.ID, q.Reason, q.Do)
	if err == nil {
		err = check(p)
	}
	if err == nil {
		err = checkAll(p.Stage, sc)
	}
	if err != nil {
		return nil, keep(&agenda.ChangeRefused{ID: q.ID, By: q.By, Do: q.Do, Kind: protocol.KindOf(err), Error: err.Error()})
	}
	return p, CarryOut(p.Stage, sc, q, keep)
}

// checkAll checks changes that are carried out one after the other.
func checkAll(changes []Change, sc Scene) error {
	sc = &claims{sc, map[uint32]bool{}}
	for _, c := range changes {
		if err := c.Check(sc); err != nil {
			return err
		}
	}
	return nil
}

// members are the agents that selectors mean, at least one.
func members(sc Cast, agents cast.Selectors) ([]uint32, error) {
	list := sc.Members(agents)
	if len(list) == 0 {
		return nil, protocol.Errorf(protocol.KindNotFound, "the scene has no agent that is meant by %s", agents)
	}
	return list, nil
}

// Rest lets agents rest, or ends their rest.
type Rest struct {
	Agents cast.Selectors
	Wake   bool
}

// Check implements Change.
func (r *Rest) Check(sc Cast) error {
	_, err := members(sc, r.Agents)
	return err
}

func (r *Rest) facts(sc Scene, q *cast.Request) []protocol.Fact {
	var list []uint32
	for _, o := range sc.Members(r.Agents) {
		if sc.Resting(o) == r.Wake {
			list = append(list, o)
		}
	}
	switch {
	case len(list) == 0:
		return nil
	case r.Wake:
		return []protocol.Fact{&agenda.RestEnded{Agents: list, ID: q.ID, By: q.By, Reason: q.Reason}}
	}
	return []protocol.Fact{&agenda.Rested{Agents: list, ID: q.ID, By: q.By, Reason: q.Reason}}
}

// Turn gives agents turns.
type Turn struct {
	Agents cast.Selectors
	Turns  int64 // of each
}

// Check implements Change. Before the scene runs nobody knows who is gone.
func (r *Turn) Check(sc Cast) error {
	list, err := members(sc, r.Agents)
	if err != nil {
		return err
	}
	if running, ok := sc.(Scene); ok {
		_, _, err := running.GiveTurns(By, list, r.Turns)
		return err
	}
	return nil
}

func (r *Turn) facts(sc Scene, q *cast.Request) []protocol.Fact {
	began, granted, err := sc.GiveTurns(q.By, sc.Members(r.Agents), r.Turns)
	switch {
	case err != nil: // it was checked; an earlier change of the same list cannot take turns away
		return nil
	case began == nil:
		return []protocol.Fact{granted}
	}
	return []protocol.Fact{began, granted}
}
