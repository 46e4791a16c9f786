// Package lore is a turn's view of the knowledge bases (agent architecture §2.1.1, §3.4): the
// bases that the agent may read, entries with their references filled in, and the entries that the
// situation of the agent activates.
//
// # Promises
//
//  1. Texts of the history, of observations and of
//     paths are built only for a base that scans them.
//  2. A reference that cannot be resolved, and a condition that fails, is a warning with its
//     base and entry.
//  3. A turn asks for the vector of a text once for each model of a base that its agent may
//     read. If the vector does not come, the words of the text rank alone.
//
// # Not here
//
// The facts by which entries stay active: engine/agent folds them.
package lore

import (
	"strings"

	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/knowledge/refs"
	"tavernsim/engine/template"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Books are the bases of a turn, with what references lead to.
type Books struct {
	Access  profile.Accesses
	Bases   knowledge.State
	World   *world.Document
	Own     *private.State // as the turn has changed it
	Vectors Vectors        // that the turn has asked for
	Kept    criteria.Kept  // entries that stay active or rest
	Began   criteria.Kept  // of them, those of this turn
}

// MaxWarnings bounds the warnings that an agent observes in a turn.
const MaxWarnings = 8

// Warning is something wrong with an entry.
type Warning struct{ KB, Entry, Message string }

// Value is the warning as an observation.
func (w Warning) Value() map[string]any {
	return map[string]any{"kb": w.KB, "entry": w.Entry, "message": w.Message}
}

// Readable finds the base of that name, or all bases that the agent may read.
func (b *Books) Readable(name string) (out []profile.Access) {
	for _, k := range b.Access {
		if k.Read && (name == "" || name == k.Alias || name == k.ID) {
			out = append(out, k)
		}
	}
	return out
}

// Entry is an entry as a workflow gets it.
func (b *Books) Entry(e *knowledge.Entry, home *knowledge.Base, access profile.Access) (map[string]any, []knowledge.Warning) {
	v := e.Value()
	content, warnings := refs.Resolver{Home: home, Base: b.base, Lookup: b.referenced}.Entry(e)
	v["content"], v["kb"] = content, access.Alias
	return v, warnings
}

// Goal is the entry of a goal with the references in its content and its description filled in.
func (b *Books) Goal(e *knowledge.Entry, home *knowledge.Base, access profile.Access) (*knowledge.Entry, []knowledge.Warning) {
	filled := *e
	v, warnings := b.Entry(e, home, access)
	if filled.Content = v["content"]; e.Goal != nil && e.Goal.Description != "" {
		text, own := *e, *e.Goal
		text.Content = own.Description
		v, more := b.Entry(&text, home, access)
		own.Description = string(template.AppendText(nil, v["content"]))
		filled.Goal, warnings = &own, append(warnings, more...)
	}
	return &filled, warnings
}

// base finds a base that the agent may read, for a dynamic reference.
func (b *Books) base(alias string) *knowledge.Base {
	for _, k := range b.Readable(alias) {
		if base, ok := b.Bases.Base(k.ID); ok {
			return base
		}
	}
	return nil
}

// referenced resolves a dynamic reference to the world or the private state.
func (b *Books) referenced(key string) (any, bool) {
	root, rest, _ := strings.Cut(key, ".")
	if root != "world" && root != "self" {
		return nil, false
	}
	return b.at(root, rest)
}

func (b *Books) at(root, path string) (any, bool) {
	place, err := world.ParsePath(path)
	switch {
	case err != nil:
		return nil, false
	case root == "world":
		return b.World.Get(place)
	}
	return private.Lookup(b.Own.Private, place)
}

// text is what stands at a path; "" = nothing.
func (b *Books) text(root string) func(string) string {
	return func(path string) string {
		v, ok := b.at(root, path)
		if !ok || v == nil {
			return ""
		}
		return string(template.AppendText(nil, v))
	}
}

// Found is what a situation activates in all bases.
type Found struct {
	Entries  []any
	Warnings []Warning
}

// Ask is how a turn asks for what its situation activates.
type Ask struct {
	Who     criteria.Who
	Scene   string
	Purpose protocol.Purpose // of the workflow that is shown it
	Turn    uint64
	Now     protocol.Time
	Draw    protocol.Draw // of the turn
	Self    any
	Events  []*protocol.Envelope
	Values  []any // of the events
	Goals   []goal.Goal
	Told    goal.Told // of the goals

	History, Observations func() []criteria.Line

	Learnt func(kb, id string) // is told of lessons that are shown
	Trace  Trace               // nil = nobody looks
}

// situation is what criteria are held against; its sources are made when a base wants them.
func (b *Books) situation(a *Ask) *criteria.Situation {
	s := &criteria.Situation{Text: a.Text(), Events: a.Values, World: b.World.Value(), Self: a.Self, Now: a.Now, Draw: a.Draw,
		Purpose: string(a.Purpose), Turn: a.Turn, Who: a.Who, Tags: append([]string{a.Who.Profile, a.Scene}, a.Who.Places...)}
	for _, e := range a.Events {
		s.EventTypes = append(s.EventTypes, e.Type)
	}
	for i := range a.Goals {
		if g := &a.Goals[i]; g.Open() {
			s.Goals = append(s.Goals, a.Told.Value(g))
		}
	}
	return s
}

// AtHand is what an agent hears and the descriptions of its open goals.
func AtHand(events []*protocol.Envelope, goals []goal.Goal) (text string) {
	for _, e := range events {
		if said, ok := Speech(e); ok {
			text += said + "\n"
		}
	}
	for i := range goals {
		if goals[i].Open() {
			text += goals[i].Description + "\n"
		}
	}
	return text
}

// Near lists the lessons that rank highest for a text, at most so many, base by base.
func (b *Books) Near(text string, limit int, now protocol.Time) []any {
	out := []any{}
	for _, access := range b.Readable("") {
		base, ok := b.Bases.Base(access.ID)
		if !ok {
			continue
		}
		for _, e := range base.NearLessons(text, limit-len(out), now) {
			v, _ := b.Entry(e, base, access)
			out = append(out, v)
		}
	}
	return out
}

// sources are the texts that entries may scan.
func (b *Books) sources(a *Ask) *criteria.Sources {
	out := &criteria.Sources{History: a.History(), Observations: a.Observations(), Self: b.text("self"), World: b.text("world")}
	for _, e := range a.Events {
		if text, ok := Speech(e); ok {
			out.Events = append(out.Events, criteria.Line{Who: e.Source, Text: text})
		}
	}
	for i := range a.Goals {
		if g := &a.Goals[i]; g.Open() {
			out.Goals = append(out.Goals, criteria.Line{Text: g.Description})
		}
	}
	return out
}

// Speech is what an event says, if it says anything: its payload is text, or holds "text"
// or "message".
func Speech(e *protocol.Envelope) (string, bool) {
	v, err := e.Body.Value()
	if err != nil {
		return "", false
	}
	switch x := v.(type) {
	case string:
		return x, true
	case map[string]any:
		for _, key := range []string{"text", "message"} {
			if s, ok := x[key].(string); ok {
				return s, true
			}
		}
	}
	return "", false
}

// Trace is told of every entry of a base why it is active, or not.
type Trace func(kb, purpose string, list []knowledge.Traced)

// Active finds it, and keeps the entries that begin to be active.
func (b *Books) Active(a *Ask) (f Found) {
	f.Entries = []any{}
	var began criteria.Kept
	s := b.situation(a)
	for _, access := range b.Readable("") {
		base, ok := b.Bases.Base(access.ID)
		if !ok {
			continue
		}
		if s.Kept = b.Kept.In(access.ID); s.Sources == nil && base.Scans() {
			s.Sources = b.sources(a)
		}
		s.Vector = b.vector(base, s.Text)
		active := base.Activate(s)
		if a.Trace != nil {
			a.Trace(access.ID, s.Purpose, base.Trace(s))
		}
		began = append(began, active.Began...)
		f.warn(access, active.Warnings)
		for _, e := range active.Entries {
			if base.Learns(e) {
				a.Learnt(access.ID, e.ID)
			}
			v, warnings := b.Entry(e, base, access)
			f.Entries = append(f.Entries, v)
			f.warn(access, warnings)
		}
	}
	if len(began) > 0 {
		b.Kept, b.Began = b.Kept.With(began...), b.Began.With(began...)
	}
	return f
}

func (f *Found) warn(access profile.Access, list []knowledge.Warning) {
	for _, w := range list {
		if len(f.Warnings) < MaxWarnings {
			f.Warnings = append(f.Warnings, Warning{access.Alias, w.Entry, w.Message})
		}
	}
}
