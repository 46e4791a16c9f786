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
