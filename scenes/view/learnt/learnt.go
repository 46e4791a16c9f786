// Package learnt shows the entries that a scene wrote into its knowledge bases: as a base that a
// project can load, and the suggestions that wait for review.
//
// The caller opens the run (scenes/view/inspect). The view folds the run to its end, and hides values
// at the paths of secrets.
package learnt

import (
	"cmp"
	"strings"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/secret"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/view/inspect"
)

// Query says what of a base is wanted.
type Query struct {
	Base   string
	Agents bool     // only what agents wrote
	Accept []uint64 // suggestions that are accepted first
}

// Base is a base at the end of a scene. What was archived is not in it.
func Base(s *inspect.Scene, q Query) (*knowledge.KnowledgeBase, error) {
	state, err := end(s)
	if err != nil {
		return nil, err
	}
	bases, err := accept(state, q)
	if err != nil {
		return nil, err
	}
	base, ok := bases.Base(q.Base)
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "no knowledge base %q; there are %s", q.Base, cmp.Or(strings.Join(bases.IDs(), ", "), "none"))
	}
	def := base.Definition()
	entries, there := def.Entries, map[string]bool{}
	def.Entries = nil
	for i := range entries {
		if e := &entries[i]; e.Source == knowledge.SourceAgent && !e.Disabled || e.Source != knowledge.SourceAgent && !q.Agents {
			one, err := shown(e)
			if err != nil {
				return nil, err
			}
			def.Entries, there[e.ID] = append(def.Entries, *one), true
		}
	}
	for i := range def.Entries {
		if e := &def.Entries[i]; !there[e.Follows] {
			e.Follows = ""
		}
	}
	return &def, nil
}

func end(s *inspect.Scene) (*machines.State, error) { return s.Fold(s.Journal().Durable().Number) }

// accept reviews suggestions as a person would at the end of the scene.
func accept(state *machines.State, q Query) (knowledge.State, error) {
	bases := state.Knowledge().Alone()
	commit := knowledge.Commit{Now: state.Agenda.Now}
	for _, n := range q.Accept {
		commit.Requests = append(commit.Requests, knowledge.Request{KB: q.Base, Op: knowledge.OpReview, Suggestion: n, Accept: true})
	}
	for _, f := range knowledge.Decide(bases, commit) {
		if no, ok := f.(*knowledge.Refused); ok {
			return bases, protocol.Errorf(no.Reason, "%s", no.Message)
		}
		bases = knowledge.Apply(bases, f)
	}
	return bases, nil
}

// shown is an entry without secrets.
func shown(e *knowledge.Entry) (*knowledge.Entry, error) {
	v, changed := secret.Hide(e.Value())
	m, ok := v.(map[string]any)
	if !changed || !ok {
		return e, nil
	}
	return knowledge.EntryOf(m)
}

// Suggestion is a change that waits for review.
type Suggestion struct {
	Base       string `json:"kb"`
	Suggestion uint64 `json:"suggestion"`
	By         string `json:"by"`
	At         string `json:"at"`
	Op         string `json:"op"`
	Entry      any    `json:"entry"` // as it was sent: whole or partial
}

// Suggestions are those that wait for review, by base, the oldest first. base "" is every
// base.
func Suggestions(s *inspect.Scene, base string) ([]Suggestion, error) {
	state, err := end(s)
	if err != nil {
		return nil, err
	}
	bases := state.Knowledge()
	if _, ok := bases.Base(base); base != "" && !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "no knowledge base %q; there are %s", base, cmp.Or(strings.Join(bases.IDs(), ", "), "none"))
	}
	out := []Suggestion{}
	for _, id := range bases.IDs() {
		if base != "" && base != id {
			continue
		}
		for _, x := range bases.Suggestions(id) {
			v, err := x.Entry.Value()
			if err != nil {
				return nil, err
			}
			entry, _ := secret.Hide(v)
			out = append(out, Suggestion{id, x.ID, x.By, x.At.String(), string(x.Op), entry})
		}
	}
	return out, nil
}
