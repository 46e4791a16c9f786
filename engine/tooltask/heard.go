package tooltask

import (
	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// Events by which agents hear of the ends of tasks.
const (
	TypeFinished = "tool.finished"            // of a call
	TypeAnswered = "panel.interaction_result" // of a question to a person
	TypeReported = "task.finished"            // of a task between agents
)

// Heard is the event that tells agents of a fact: its type, its payload, and its receivers; none =
// the fact ends no task, or nobody is there who asked.
func Heard(f protocol.Fact) (typ string, payload map[string]any, to []string) {
	switch x := f.(type) {
	case *Ended:
		if v, to := x.Finished(); v != nil {
			return TypeReported, v, to
		}
		if v, ok := x.Result(); ok {
			return TypeAnswered, v, []string{x.Agent}
		}
		v := x.Value()
		if out, err := x.Output.Value(); err == nil && out != nil {
			v["output"] = tool.View(out, x.Artifacts)
		}
		return TypeFinished, v, []string{x.Agent}
	case *Cancelled:
		if AsksPeople(x.Tool) {
			return TypeAnswered, map[string]any{"task_id": x.ID, "status": Dismissed, "error": x.Reason}, []string{x.Agent}
		}
		return TypeFinished, x.Value(), []string{x.Agent}
	}
	return "", nil, nil
}
