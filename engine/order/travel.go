package order

import (
	"tavernsim/engine/agent/direct"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/cast"
	"tavernsim/protocol"
)

// Travel sends agents to another scene.
type Travel struct {
	Agents cast.Selectors
	To     string // scene id
}

func (r *reader) travel(p tool.Params) error {
	agents, err := direct.Agents(p)
	r.plan.Stage = append(r.plan.Stage, &Travel{Agents: agents, To: p.Text("to")})
	return err
}

// Check implements Change.
func (r *Travel) Check(sc Cast) error {
	if _, err := sc.LinkTo(r.To); err != nil {
		return err
	}
	list, err := members(sc, r.Agents)
	if err != nil {
		return err
	}
	if running, ok := sc.(Scene); ok {
		return running.MayGo(len(list))
	}
	return nil
}

func (r *Travel) facts(sc Scene, q *cast.Request) []protocol.Fact {
	if link, err := sc.LinkTo(r.To); err == nil {
		for _, o := range sc.Members(r.Agents) {
			sc.Leave(o, link, q)
		}
	}
	return nil
}
