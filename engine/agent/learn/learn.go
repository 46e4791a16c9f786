// Package learn holds the lessons that a turn was shown, so that a goal that the turn ends
// credits them, and turns the entries of a reflection into writes (agent architecture §2.1.5).
package learn

import (
	"cmp"
	"maps"
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
)

// Shown are the lessons that a turn was shown. The zero Shown has none.
type Shown []lesson

type lesson struct{ kb, id string }

// Show notes a lesson, once.
func (s *Shown) Show(kb, id string) {
	if one := (lesson{kb, id}); !slices.Contains(*s, one) {
		*s = append(*s, one)
	}
}

// Credit gives the requests that count the lessons, one for each base, if the facts of the
// turn end a goal: the lessons helped if one was completed. goals are those before the turn.
func (s Shown) Credit(facts []protocol.Fact, goals []goal.Goal) (out []knowledge.Request) {
	ended, helped := false, false
	for _, f := range facts {
		status := ""
		switch f := f.(type) {
		case *agentfact.GoalChanged:
			if f.From != f.Goal.Status {
				status = f.Goal.Status
			}
		case *agentfact.GoalsUpdated:
			if was, _ := goal.Find(goals, f.Goal.ID); !f.Removed && was.Status != f.Goal.Status {
				status = f.Goal.Status
			}
			goals = goal.Put(goals, f.Goal, f.Removed)
		}
		ended = ended || status == goal.Completed || status == goal.Failed
		helped = helped || status == goal.Completed
	}
	if !ended {
		return nil
	}
	for _, l := range s {
		i := slices.IndexFunc(out, func(q knowledge.Request) bool { return q.KB == l.kb })
		if i < 0 {
			i, out = len(out), append(out, knowledge.Request{KB: l.kb, Op: knowledge.OpUsed, Entry: map[string]any{"ids": []any{}, "helped": helped}})
		}
		ids, _ := out[i].Entry["ids"].([]any)
		out[i].Entry["ids"] = append(ids, l.id)
	}
	return out
}

// Write makes the parameters of WriteToKnowledgeBaseTool of an entry of a reflection, which
// may name its base and the operation. writes names the base of one that does not, by its type.
func Write(entry map[string]any, writes map[string]string) map[string]any {
	rest := maps.Clone(entry)
	out := map[string]any{"entry": rest}
	for _, field := range []string{"kb", "op"} {
		if v, ok := rest[field]; ok {
			out[field] = v
			delete(rest, field)
		}
	}
	if out["kb"] == nil && len(writes) > 0 {
		name, _ := rest["entry_type"].(string)
		if kb := cmp.Or(writes[knowledge.CanonicalType(name)], writes[profile.AnyType]); kb != "" {
			out["kb"] = kb
		}
	}
	return out
}
