package endpoint

import (
	"fmt"
	"strings"

	"tavernsim/protocol"
)

// Names maps the ids of tools to the names that endpoints accept, [A-Za-z0-9_-]{1,64},
// and back: "workflow:skills/hum" travels as "wf_skills_hum". It is of one request.
type Names struct {
	wire, ids map[string]string
}

// NewNames names the tools of a request, and those that its messages called.
func NewNames(q *protocol.ModelRequest) *Names {
	n := &Names{}
	for i := range q.Tools {
		n.add(q.Tools[i].Name)
	}
	for i := range q.Messages {
		for k := range q.Messages[i].Calls {
			n.add(q.Messages[i].Calls[k].Tool)
		}
	}
	return n
}

// add gives an id its name. Two ids that would travel under one name get numbers.
func (n *Names) add(id string) {
	if n.wire == nil {
		n.wire, n.ids = map[string]string{}, map[string]string{}
	}
	if _, known := n.wire[id]; known {
		return
	}
	name := wireName(id)
	for i := 2; n.ids[name] != ""; i++ {
		name = fmt.Sprintf("%.60s_%d", wireName(id), i)
	}
	n.wire[id], n.ids[name] = name, id
}

func wireName(id string) string {
	if rest, skill := strings.CutPrefix(id, "workflow:"); skill {
		id = "wf_" + rest
	}
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
	if name == "" {
		return "tool"
	}
	return name[:min(len(name), 64)]
}

// Wire is the name under which a tool travels.
func (n *Names) Wire(id string) string {
	if name, ok := n.wire[id]; ok {
		return name
	}
	return wireName(id)
}

// ID is the tool that an endpoint means; a name that was not offered stays as it is.
func (n *Names) ID(name string) string {
	if id, ok := n.ids[name]; ok {
		return id
	}
	return name
}
