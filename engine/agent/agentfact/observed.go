package agentfact

// Observed is what the next deliberation is told of the call.
func (f *CallMade) Observed() map[string]any {
	v := map[string]any{"tool": f.Tool, "status": string(f.Status)}
	if out, err := f.Output.Value(); err == nil && out != nil {
		v["output"] = out
	}
	if f.Error != "" {
		v["error"] = f.Error
	}
	return v
}

// Observed is what the next deliberation is told of the request.
func (f *OutcomeUnknown) Observed() map[string]any {
	return map[string]any{"effect": f.Effect, "request": f.Request, "error": f.Error}
}

// Observed is what a deliberation is told of the change.
func (f *GoalChanged) Observed() map[string]any {
	v := map[string]any{"goal": f.Goal.ID, "from": f.From, "status": f.Goal.Status, "cause": string(f.Cause)}
	if f.More.Why != "" {
		v["why"] = f.More.Why
	}
	return v
}
