package order

import (
	"strconv"

	"tavernsim/engine/cast"
	"tavernsim/engine/space"
	"tavernsim/protocol"
)

// Move sends agents somewhere. The service of space carries it out, in the wave of the order.
type Move struct {
	Agents cast.Selectors
	To     string
	Put    bool // at once
}

// Check implements Change. Before the scene runs nobody knows where agents are.
func (m *Move) Check(sc Cast) error {
	if !sc.InSpace() {
		return protocol.Errorf(protocol.KindInvalid, "move: the scene has no space")
	}
	if _, err := members(sc, m.Agents); err != nil {
		return err
	}
	if running, ok := sc.(Scene); ok {
		return running.CheckMove(m.requests(running, &cast.Request{}))
	}
	return nil
}

// facts leaves none of the stage: those of the service follow.
func (m *Move) facts(sc Scene, q *cast.Request) []protocol.Fact {
	sc.Request(sequenced(m.requests(sc, q)))
	return nil
}

// named is a cast that knows the names of its members.
type named interface {
	Members(cast.Selectors) []uint32
	Name(ordinal uint32) string
}

func (m *Move) requests(sc named, q *cast.Request) []space.Request {
	members := sc.Members(m.Agents)
	list := make([]space.Request, len(members))
	for i, o := range members {
		list[i] = space.Request{ID: q.ID + "/" + strconv.Itoa(i), By: q.By, Agent: sc.Name(o), To: m.To, Reason: q.Reason, Put: m.Put}
	}
	return list
}

// sequenced addresses requests to the service of space.
func sequenced(list []space.Request) (out []protocol.Sequenced) {
	for i := range list {
		out = append(out, protocol.Sequenced{To: space.Service, Data: list[i].AppendMsg(nil)})
	}
	return out
}

// Moves are the requests of all moves among changes, and of those who come, to be checked together.
func Moves(changes []Change, sc Scene) (list []space.Request) {
	there := &claims{sc, map[uint32]bool{}}
	for _, c := range changes {
		switch x := c.(type) {
		case *Move:
			list = append(list, x.requests(sc, &cast.Request{})...)
		case *Spawn:
			if who, err := there.Comers(&x.Coming, nil); err == nil && sc.InSpace() {
				list = append(list, entrances(sc, who)...)
			}
		}
	}
	return list
}
