package project

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/agent/lore"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/world"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// worldBegins checks the initial world state against its limit.
func (l *loader) worldBegins(s *Scene) {
	size, most := len(protocol.Encode(s.Definition.InitialWorldState)), s.Definition.Simulation.Limits.MaxWorldBytes
	if size > most {
		l.strict(s.doc, at("initial_world_state"), "raise the limit, or begin with less", "the world begins with %d bytes; the limit is %d (simulation.limits.max_world_bytes)", size, most)
	}
}

// begins checks what the agents of an entry begin with: the size of the private state, which grows with
// the number, the number of goals, and what the texts of the goals refer to.
func (l *loader) begins(s *Scene, steps func(...any) []string, d *agentInstance, e *entry) {
	written := func(override bool, inScene, inProfile string) (*source.Document, []string) {
		switch {
		case override:
			return s.doc, steps(inScene)
		case d.CustomRuntimeConfig != nil:
			return s.doc, steps("custom_runtime_config")
		}
		return e.profile.doc, at(inProfile)
	}
	const fix = "raise the limit, or begin with less"
	if size, most := len(protocol.Encode(e.stateOf(e.count))), e.runtime.MaxStateBytes; size > most {
		doc, place := written(len(d.InitialPrivateStateOverride) > 0, "initial_private_state_override", "initial_private_state_values")
		l.strict(doc, place, fix, "an agent begins with a private state of %d bytes; the limit is %d (custom_runtime_config.max_state_bytes)", size, most)
	}
	if n, most := len(e.goals), e.runtime.MaxGoals; n > most {
		doc, place := written(d.InitialGoalsOverrideReference != nil, "initial_goals_override_reference", "initial_goals_reference")
		l.strict(doc, place, fix, "an agent begins with %d goals; the limit is %d (custom_runtime_config.max_goals)", n, most)
	}
	doc, list := e.profile.doc, at("initial_goals_reference")
	if d.InitialGoalsOverrideReference != nil {
		doc, list = s.doc, steps("initial_goals_override_reference")
	}
	for i := range e.goals {
		l.goalText(s, e, e.goals[i], doc, append(slices.Clone(list), at(i)...))
	}
}

// Refers reports whether texts of the entry of a goal have references.
func Refers(e *knowledge.Entry) bool {
	return e.Goal != nil && strings.Contains(e.Goal.Description, "{{{") || strings.Contains(fmt.Sprint(e.Content), "{{{")
}

// goalText warns of references in the text of a goal that lead nowhere.
func (l *loader) goalText(s *Scene, e *entry, ref profile.GoalReference, doc *source.Document, steps []string) {
	kb := l.project.bases[ref.KBAliasOrID]
	if kb == nil || ref.CAIUID == "" {
		return // a fault
	}
	if found := l.entry(kb, ref.CAIUID); found == nil || !Refers(found) {
		return
	}
	if s.begun == nil {
		s.begun, _ = world.FromValue(s.Definition.InitialWorldState, 1) // whoever makes the scene says what is wrong
	}
	books := lore.Books{Own: &private.State{Private: e.stateOf(1)}, Bases: l.builtBases(), World: s.begun}
	for i := range e.profile.Definition.KnowledgeBaseReferences {
		books.Access = append(books.Access, e.profile.Definition.KnowledgeBaseReferences[i].Access())
	}
	home, ok := books.Bases.Base(kb.ID)
	if !ok {
		return
	}
	if g, ok := home.Get(ref.CAIUID); ok && s.begun != nil {
		_, warnings := books.Goal(g, home, profile.Access{})
		for _, w := range warnings {
			l.warn(doc, steps, "", "the goal %q of %q: %s", g.ID, kb.ID, w.Message)
		}
	}
}

// builtBases are the sound knowledge bases, made at the first question.
func (l *loader) builtBases() knowledge.State {
	if l.built == nil {
		var bases []*knowledge.Base
		for _, id := range protocol.SortedKeys(l.project.bases) {
			if b, err := knowledge.New(*l.project.bases[id]); err == nil {
				bases = append(bases, b)
			}
		}
		all, _ := knowledge.NewState(bases...) // their ids are those of a map
		l.built = &all
	}
	return *l.built
}
