package tool

// Goal are the parameters of a goal that every agent's tool has.
func Goal(more ...string) []Param {
	return []Param{
		Required("id", "string", "goal id"),
		Optional("description", "string", "what it is about"),
		Optional("priority", "number", "0 to 1"),
		OneOf("status", "where it stands", append([]string{"pending", "active", "completed", "failed"}, more...)...),
		Optional("details", "", "anything else"),
		Optional("remove", "boolean", "forget it"),
	}
}

// MotiveGoal are the parameters of a goal, with those that only agents with rules for their
// goals take.
func MotiveGoal() []Param {
	return append(Goal("refused"),
		Optional("progress", "number", "0 to 1"),
		Optional("why", "string", "the reason of the status"),
		Optional("deadline_seconds", "number", "fails unless completed by then, from now; 0: no deadline"),
		Optional("parent", "string", "id of the goal that it is a part of"),
		OneOf("completes_by", "its parts complete it: all or any of them", "all", "any"),
		Optional("exclusive", "array", "resources that no other active goal may have"),
		Optional("recurs_seconds", "number", "begins again so long after its end"),
		Optional("preconditions", "array", "it waits for them; each a text, or {expr} over world, self, goals, now"),
		Optional("completion_criteria", "array", "it is completed when all hold"),
		Optional("failure_criteria", "array", "it has failed when one holds"),
	)
}

// Reflection are the fields of an order to reflect.
func Reflection() []Param {
	return []Param{
		Optional("reason", "string", "what to think about"),
		Optional("goal", "string", "id of the goal of the agent that it is about"),
	}
}
