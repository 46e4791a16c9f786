package project

import (
	"slices"
	"strings"

	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/world"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// anyProfile stands for every profile without permissions of its own.
const anyProfile = "*"

// permissions joins what a scene and the profiles say of writing to the world:
// the scene about the profile, the profile itself, the scene about all.
func (l *loader) permissions(s *Scene) *world.Permissions {
	p := world.Permissions{Profiles: map[string]world.Rules{}}
	for _, id := range protocol.SortedKeys(l.project.profiles) {
		if own := l.project.profiles[id].rules; own != nil {
			p.Profiles[id] = *own
		}
	}
	given := s.Definition.WorldWritePermissions
	for _, id := range protocol.SortedKeys(given) {
		here := at("world_write_permissions", id)
		written := given[id]
		rules := l.writeRules(s.doc, here, &written)
		if id == anyProfile {
			p.Default = rules
			continue
		}
		if _, ok := l.project.profiles[id]; !ok {
			l.fault(s.doc, here, source.Suggest(id, protocol.SortedKeys(l.project.profiles)), "there is no profile %q", id)
		}
		p.Profiles[id] = rules
	}
	if len(p.Profiles) == 0 && len(given) == 0 {
		return nil
	}
	return &p
}

// writeRules reads permissions, with a fault at every pattern that is none.
func (l *loader) writeRules(doc *source.Document, steps []string, w *profile.WritePermissions) world.Rules {
	if node, n := doc.Root.Find(append(slices.Clone(steps), "allow")...); n == len(steps)+1 && node.Kind == source.List && node.Len() == 0 {
		l.fault(doc, append(slices.Clone(steps), "allow"), `to forbid every write, deny "**"; else leave allow out`, "an empty list allows nothing and is easily a slip")
	}
	return world.Rules{Allow: l.patterns(doc, append(slices.Clone(steps), "allow"), w.Allow), Deny: l.patterns(doc, append(slices.Clone(steps), "deny"), w.Deny)}
}

func (l *loader) patterns(doc *source.Document, steps []string, texts []string) []world.Pattern {
	var out []world.Pattern
	for i, text := range texts {
		p, err := world.ParsePattern(text)
		if err != nil {
			l.fault(doc, append(slices.Clone(steps), at(i)...), "", "%s", err)
			continue
		}
		l.placeholders(doc, append(slices.Clone(steps), at(i)...), p)
		out = append(out, p)
	}
	return out
}

// placeholders refuses a name in braces that stands for nothing: taken as it is written, the pattern
// would match no path that anybody means.
func (l *loader) placeholders(doc *source.Document, steps []string, p world.Pattern) {
	for _, s := range p {
		_, open, _ := strings.Cut(strings.ReplaceAll(s.Key, world.Self, ""), "{")
		if name, _, closed := strings.Cut(open, "}"); closed {
			l.strict(doc, steps, "only "+world.Self+" stands for something", "%s: {%s} in a pattern of world paths stands for nothing", p, name)
			return
		}
	}
}

// publishes reports what is wrong with the events that agents may publish, and with whom these may name.
func (l *loader) publishes(doc *source.Document, d *profile.Profile) {
	l.eventTypes(l.fault, doc, "publishes", d.Publishes, true)
	for i, id := range d.PublishesTo {
		if strings.Contains(strings.TrimSuffix(id, "*"), "*") {
			l.fault(doc, at("publishes_to", i), `"*" is every agent`, "want an instance id, or the beginning of some with a star at its end; got %q", id)
		}
	}
	if (d.Publishes != nil || d.PublishesTo != nil) && !slices.Contains(d.ToolIDsInventory, publish.Tool) {
		l.warn(doc, at("tool_ids_inventory"), "add "+publish.Tool+", or leave out publishes and publishes_to", "the profile says which events its agents publish, and they have no %s", publish.Tool)
	}
}

// eventTypes checks a list of types, or of patterns of them.
func (l *loader) eventTypes(say say, doc *source.Document, field string, list []string, patterns bool) {
	for i, t := range list {
		if problem := badEventType(t, patterns); problem != "" && t != "" {
			say(doc, at(field, i), "", "the event type %q %s", t, problem)
		}
	}
}

// perceives reads what agents perceive of the world. A pattern does not lead through a list, of which the positions
// shift.
func (l *loader) perceives(doc *source.Document, texts []string) []world.Pattern {
	steps := at("perceives")
	list := l.patterns(doc, steps, texts)
	for _, p := range list {
		if slices.ContainsFunc(p, func(s world.Segment) bool { return s.Kind == world.Index || s.Kind == world.Append }) {
			l.fault(doc, steps, "name the list", "%s leads through a list; a list is perceived as a whole", p)
		}
	}
	return append([]world.Pattern{}, list...)
}
