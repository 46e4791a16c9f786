package project

import (
	"slices"

	"tavernsim/engine/agent/profile"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/world"
	"tavernsim/internal/source"
)

// motivation checks the rules for goals of a profile.
func (l *loader) motivation(p *Profile) {
	m := p.Definition.Motivation
	if m == nil {
		return
	}
	if m.ForgetBelow > 0 && m.Patience == 0 {
		l.fault(p.doc, at("motivation", "forget_below"), "give a patience", "without patience no rank decays")
	}
	ids, paths := map[string]int{}, map[string]int{}
	for i := range m.Drives {
		d := &m.Drives[i]
		once := func(field, value string, seen map[string]int) {
			if first, ok := seen[value]; ok && value != "" {
				l.fault(p.doc, at("motivation", "drives", i, field), "give it one of its own", "%q is that of drives[%d], too", value, first)
				return
			}
			seen[value] = i
		}
		once("id", d.ID, ids)
		once("path", d.Path, paths)
		if path, err := world.ParsePath(d.Path); err != nil || len(path) == 0 {
			l.fault(p.doc, at("motivation", "drives", i, "path"), "", "is no path of the private state: %q", d.Path)
		}
		l.serves(p, i, d)
	}
}

// serves warns of goals that no base of the profile has: its agents may still make them.
func (l *loader) serves(p *Profile, i int, d *profile.Drive) {
	var known []string
	for _, ref := range p.Definition.KnowledgeBaseReferences {
		if kb := l.project.bases[ref.SourceID]; kb != nil {
			known = append(known, entryIDs(kb, isGoal)...)
		}
	}
	for k, id := range d.Serves {
		if !slices.Contains(known, id) {
			l.warn(p.doc, at("motivation", "drives", i, "serves", k), source.Suggest(id, known), "no knowledge base of the profile has a goal %q", id)
		}
	}
}

// Motivated reports whether rules weigh the goals of the agents of a profile, and gives them.
func (p *Profile) Motivated(entries []*knowledge.Entry) (*goal.Rules, error) {
	needed := p.Definition.Motivation != nil
	for _, e := range entries {
		needed = needed || e.Goal != nil && e.Goal.Motivated()
	}
	if !needed {
		return nil, nil
	}
	return p.Definition.Motivation.Rules()
}
