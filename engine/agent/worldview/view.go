// Package worldview is a turn's view of the world, and the tools that read the world and request
// changes (agent architecture §2.1.4). The world service decides after the turn.
//
// # Promises
//
//  1. A request that depends on places that the turn has read names each of them.
//  2. Calls of one transaction follow each other: the service decides requests in their order.
//
// # Not here
//
// Refusals by the service: engine/worldstate.
package worldview

import (
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// maxReads bounds the places that one request may require to be unchanged.
const maxReads = 200

// View is the world of a turn's wake. All reads of the turn go through it,
// so that it can note the places on which the decision depends.
type View struct {
	*world.Document
	// asked are the places that tools read, for check_reads: at most one more than a
	// request may declare.
	asked  []world.Path
	group  string   // transaction of the last request
	groups []string // transactions so far
}

// Clear forgets the world, and keeps the memory of what was asked.
func (v *View) Clear() {
	clear(v.asked[:cap(v.asked)])
	*v = View{asked: v.asked[:0]}
}

// ask notes a place.
func (v *View) ask(path world.Path) {
	if len(v.asked) <= maxReads {
		v.asked = append(v.asked, path)
	}
}

// Perceived is what patterns show an agent of the world; nil shows all of it.
func (v *View) Perceived(patterns []world.Pattern, instance string) map[string]any {
	if patterns == nil {
		return v.Value()
	}
	own := make([]world.Pattern, len(patterns))
	for i, p := range patterns {
		own[i] = p.For(instance)
	}
	return v.Part(own)
}

// Read carries out a call that reads.
func (v *View) Read(p tool.Params) (any, error) {
	text := p.Text("path")
	if text == "" {
		v.ask(nil)
		return v.Value(), nil
	}
	path, err := world.ParsePath(text)
	if err != nil {
		return v.query(text)
	}
	v.ask(path)
	found, ok := v.Get(path)
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "the world has nothing at %s", text)
	}
	return found, nil
}

// maxMatches bounds the matches that a query with wildcards returns.
const maxMatches = 1000

func (v *View) query(text string) (any, error) {
	pattern, err := world.ParsePattern(text)
	if err != nil {
		return nil, err
	}
	v.ask(pattern.Stem())
	matches, more := v.Query(pattern, maxMatches)
	out := make([]any, len(matches))
	for i, m := range matches {
		out[i] = map[string]any{"path": m.Path.String(), "value": m.Value}
	}
	return map[string]any{"matches": out, "more": more}, nil
}
