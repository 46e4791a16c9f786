package tool

import "tavernsim/protocol"

// ResultValue is what a call came to, as the next round of its turn observes it.
func ResultValue(r *protocol.CallResult) map[string]any {
	v := map[string]any{"tool": r.Tool, "status": string(r.Status), "output": r.Output}
	if r.Error != nil {
		v["error"] = r.Error.Message
	}
	return v
}

// RequestID is the result of a call that asked a service, and TaskID of one that requested a task.
// Most results are recorded and no more, so they become values only when they are read (Readable).
type (
	RequestID string
	TaskID    string
)

// Readable is what a call returned, as a value.
func Readable(output any) any {
	switch id := output.(type) {
	case TaskID:
		return map[string]any{"task_id": string(id)}
	case RequestID:
		return map[string]any{"request_id": string(id)}
	}
	return output
}
