package factjson

import "tavernsim/engine/goal"

// Goal is a goal with the names of its page, and with what its entry says.
func Goal(g goal.Goal, told goal.Told) Object {
	o := Object{{Name: "id", Value: g.ID}, {Name: "kb", Value: g.KB}, {Name: "description", Value: g.Description}, {Name: "priority", Value: g.Priority}, {Name: "status", Value: g.Status}, {Name: "details", Value: Value(g.Details)}}
	v := told.Value(&g)
	for _, name := range []string{"parent", "source", "given_by", "deadline", "exclusive", "progress", "preconditions", "completion_criteria", "failure_criteria", "completes_by", "rewards", "penalties", "why"} {
		if v[name] != nil {
			o = append(o, Member{Name: name, Value: JSON(v[name])})
		}
	}
	return o
}

// RankedGoal is a goal with its rank, where there are rules for goals.
func RankedGoal(g goal.Ranked, told goal.Told) Object {
	o := Goal(g.Goal, told)
	if g.More != nil && g.Open() {
		o = append(o, Member{Name: "rank", Value: float64(g.Rank) / goal.One})
	}
	return o
}
