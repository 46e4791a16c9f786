// Package toolcall names tools as endpoints of models take them, and reads the calls that
// models write.
package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

// Names maps the ids of tools to the names that endpoints accept, [A-Za-z0-9_-]{1,64},
// and back: "workflow:skills/hum" travels as "wf_skills_hum". It is of one request.
type Names struct {
	wire, ids map[string]string
}

// Of names the tools of a request, and those that its messages called.
func Of(q *protocol.ModelRequest) *Names {
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

// Call makes a call of what a model wrote: its arguments are read leniently, and kept as
// text if they are no JSON object or break off.
func (n *Names) Call(id, name, arguments string) protocol.Call {
	c := protocol.Call{ID: id, Tool: n.ID(name), Origin: protocol.OriginNative}
	if t := strings.TrimSpace(arguments); t == "" || t == "null" {
		return c
	}
	var ok bool
	if c.Params, ok = plain(arguments); ok {
		return c
	}
	return mended(c, arguments)
}

// mended reads arguments that are not written plainly.
func mended(c protocol.Call, arguments string) protocol.Call {
	c.Params = nil
	text, err := lenient.Read(arguments, lenient.Options{})
	if object, ok := text.Value.(*lenient.Object); err == nil && ok && !object.Cut {
		if plain, err := lenient.Plain(object); err == nil {
			c.Params, _ = plain.(map[string]any)
			return c
		}
	}
	c.Broken = arguments
	return c
}

// Unique gives ids to the calls that lack one or share it.
func Unique(calls []protocol.Call) {
	if unique(calls) {
		return
	}
	taken := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		for k := i + 1; c.ID == "" || taken[c.ID]; k++ {
			c.ID = fmt.Sprintf("call_%d", k)
		}
		taken[c.ID] = true
	}
}

// unique reports whether few calls have ids that differ, as nearly all do.
func unique(calls []protocol.Call) bool {
	for i := range calls {
		if calls[i].ID == "" || i > 8 || slices.ContainsFunc(calls[:i], func(c protocol.Call) bool { return c.ID == calls[i].ID }) {
			return false
		}
	}
	return true
}
