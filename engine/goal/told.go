package goal

import "slices"

// Told is what the entries of initial goals say beside what their goals hold, with the names of
// [Goal.Value]. It is shared and, once it is made, never written.
type Told map[from]map[string]any

// from is the entry that defines a goal.
type from struct{ kb, id string }

// Add keeps what an entry says, if it says anything.
func (t Told) Add(kb, id string, says map[string]any) {
	if len(says) > 0 {
		t[from{kb, id}] = says
	}
}

// Value is the goal as workflows see it, with what its entry says. What the goal itself has wins.
func (t Told) Value(g *Goal) map[string]any {
	v := g.Value()
	for name, x := range t[from{g.KB, g.ID}] {
		if _, own := v[name]; !own {
			v[name] = x
		}
	}
	return v
}

// Says is the rest of a goal with the names of [Goal.Value].
func (m *More) Says() map[string]any {
	v := map[string]any{}
	m.put(v)
	return v
}

// Once leaves out the goals whose id an earlier one has: goals are told apart by id. Older programs
// let an agent begin with two.
func Once(goals []Goal) []Goal {
	if len(goals) < 2 {
		return goals
	}
	seen := make(map[string]bool, len(goals))
	for i := range goals {
		seen[goals[i].ID] = true
	}
	if len(seen) == len(goals) {
		return goals
	}
	clear(seen)
	return slices.DeleteFunc(slices.Clone(goals), func(g Goal) bool {
		again := seen[g.ID]
		seen[g.ID] = true
		return again
	})
}
