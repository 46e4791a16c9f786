package worldstate

import (
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Answer is what a fact tells somebody who asked.
type Answer struct {
	To    string // instance id
	Kind  string // of the observation
	Wakes bool   // it is urgent enough to deliberate for
}

// AnswerOf says who is owed an answer to a fact. Success wakes only those who
// asked for it; a refusal, a lease and the end of a lease that ran out wake.
func AnswerOf(f protocol.Fact) (a Answer, ok bool) {
	switch x := f.(type) {
	case *world.Refused:
		return Answer{x.By, "world_refused", true}, true
	case *Granted:
		return Answer{x.By, "world_granted", true}, true
	case *world.Leased:
		return Answer{x.Lease.Holder, "world_leased", true}, true
	case *world.Released:
		return Answer{x.Holder, "world_lease_expired", true}, x.Expired
	case *statecmd.Committed:
		return Answer{x.By, "world_commands", x.Answer || x.Failed()}, x.Request != ""
	}
	return a, false
}

// AnswerValue is what the answer says, as a value.
func AnswerValue(f protocol.Fact) map[string]any {
	switch x := f.(type) {
	case *world.Refused:
		return map[string]any{
			"request_id": x.Request, "path": x.Path.String(), "op": string(x.Op), "code": string(x.Code), "message": x.Message, "version": x.Version,
		}
	case *Granted:
		return map[string]any{"request_id": x.Request, "path": x.Path.String(), "op": x.Op, "version": x.Version}
	case *world.Leased:
		return map[string]any{"lock": x.Lease.ID, "paths": texts(x.Lease.Paths), "until": x.Lease.Until.String()}
	case *world.Released:
		return map[string]any{"lock": x.ID}
	case *statecmd.Committed:
		return commandsValue(x)
	}
	return nil
}

func texts(paths []world.Path) []any {
	out := make([]any, len(paths))
	for i, p := range paths {
		out[i] = p.String()
	}
	return out
}

func commandsValue(c *statecmd.Committed) map[string]any {
	results, warnings := c.Outcome()
	v := statecmd.OutcomeValue(results, warnings, c.Debug)
	v["request_id"] = c.Request
	return v
}
