// Package toolcall gives tools names that model endpoints accept, and reads the calls that
// models write.
package toolcall

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"tavernsim/internal/lenient"
	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// Unmet is the choice of a tool that no answer can meet, because the request has no tools; "" = there
// is none.
func Unmet(q *protocol.ModelRequest) string {
	if o := q.Options; o != nil && len(q.Tools) == 0 && o.ToolChoice != "auto" && o.ToolChoice != "none" {
		return o.ToolChoice
	}
	return ""
}

// Names maps the ids of tools to the names that endpoints accept, [A-Za-z0-9_-]{1,64}, and back.
// An id that is such a name stays as it is. Of any other one a name is made that ends in six digits of the
// hash of the id: "workflow:skills/hum" travels as "workflow_skills_hum_a3ada9". So a name depends on
// its id alone, and stays the same when other tools come and go. It is of one request.
type Names struct {
	wire, ids map[string]string
}

// Of names the tools of a request, and those that its messages called.
func Of(q *protocol.ModelRequest) (n Names) {
	var others []string // ids that endpoints do not accept
	add := func(id string) {
		if !fits(id) {
			others = append(others, id)
		} else {
			n.give(id, id)
		}
	}
	for i := range q.Tools {
		add(q.Tools[i].Name)
	}
	for i := range q.Messages {
		for k := range q.Messages[i].Calls {
			add(q.Messages[i].Calls[k].Tool)
		}
	}
	slices.Sort(others)
	n.make(slices.Compact(others))
	return n
}

func (n *Names) give(id, name string) {
	if n.wire == nil {
		n.wire, n.ids = map[string]string{}, map[string]string{}
	}
	n.wire[id], n.ids[name] = name, id
}

const (
	longest    = 64 // characters of a name
	fewDigits  = 6
	moreDigits = 2
	mostDigits = longest - 2 // and a character of the id, and _
)

// make gives names to ids that are none. Those that would share a name, and one that would have the name of another
// tool, get more digits, in whatever order they come.
func (n *Names) make(ids []string) {
	for digits := fewDigits; len(ids) > 0 && digits <= mostDigits; digits += moreDigits {
		bearers := map[string]int{}
		for _, id := range ids {
			bearers[made(id, digits)]++
		}
		ids = slices.DeleteFunc(ids, func(id string) bool {
			name := made(id, digits)
			if _, taken := n.ids[name]; taken || bearers[name] > 1 {
				return false
			}
			n.give(id, name)
			return true
		})
	}
}

// made is the name that is made of an id.
func made(id string, digits int) string {
	sum := sha256.Sum256([]byte(id))
	name := strings.Map(func(r rune) rune {
		if accepted(r) {
			return r
		}
		return '_'
	}, id)
	return name[:min(len(name), longest-1-digits)] + "_" + hex.EncodeToString(sum[:])[:digits]
}

// fits reports whether endpoints take an id as it is.
func fits(id string) bool {
	return id != "" && len(id) <= longest && !strings.ContainsFunc(id, func(r rune) bool { return !accepted(r) })
}

func accepted(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// Wire is the name under which a tool travels.
func (n *Names) Wire(id string) string {
	if name, ok := n.wire[id]; ok {
		return name
	}
	if fits(id) {
		return id
	}
	return made(id, fewDigits)
}

// ID is the tool that an endpoint means; a name that was not offered stays as it is.
func (n *Names) ID(name string) string {
	if id, ok := n.ids[name]; ok {
		return id
	}
	return name
}

// Call makes a call of what a model wrote: its arguments are read leniently, and kept as
// text if they are no JSON object, break off, or hold a number that no value can. The reader is the caller's again.
func (n *Names) Call(in *wirejson.Reader, id, name, arguments string) protocol.Call {
	c := protocol.Call{ID: id, Tool: n.ID(name), Origin: protocol.OriginNative}
	if t := strings.TrimSpace(arguments); t == "" || t == "null" {
		return c
	}
	var ok bool
	if c.Params, ok = plain(in, arguments); ok {
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
