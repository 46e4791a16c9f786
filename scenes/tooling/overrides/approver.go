package overrides

import (
	"context"
	"strings"

	"tavernsim/engine/permit"
	"tavernsim/protocol"
	"tavernsim/tools/approvals"
	"tavernsim/tools/rpc"
)

// methodApprove asks a service for leave.
const methodApprove = "approval/ask"

// Approver asks a service whether a call may be made. People asks for values of secrets, which
// no service gives in the place of a person.
type Approver struct {
	Winner   *Winner
	Services Services
	People   approvals.Approver // nil = nobody is there
	// Mask takes secrets out of what the service says.
	Mask func(text string) string
}

// leave is the result of approval/ask.
type leave struct {
	Yes    *bool  `json:"yes"`
	Reason string `json:"reason"`
}

const maxReason = 400 // bytes

// Ask implements approvals.Approver.
func (a *Approver) Ask(ctx context.Context, q *approvals.Question) (v approvals.Verdict, err error) {
	if q.Kind == approvals.KindForm { // it wants to know, not to be allowed
		if a.People == nil {
			return v, protocol.Errorf(protocol.KindDenied, "%s", permit.Why(permit.ByNever))
		}
		return a.People.Ask(ctx, q)
	}
	if q.Kind == approvals.KindValue {
		if a.People == nil {
			return v, protocol.Errorf(protocol.KindDenied, "%s; the operator can give it in a file of secrets", permit.Why(permit.ByNever))
		}
		return a.People.Ask(ctx, q)
	}
	told := map[string]any{
		"id": q.ID, "scene": q.Scene, "agent": q.Agent, "profile": q.Profile, "tool": q.Tool, "params": q.Params, "rule": q.Rule, "reason": q.Reason,
		"contents": q.Contents,
	}
	raw, failed := a.Services.Ask(ctx, &rpc.Request{Service: a.Winner.Service, Method: methodApprove, Params: told, Begins: func() { told["timeout_ms"] = left(ctx) }})
	if ctx.Err() != nil {
		return v, context.Cause(ctx)
	}
	if failed != nil {
		return v, protocol.Errorf(failed.Error.Kind, "%s: %s", a.Winner.Name(), a.Mask(failed.Error.Message))
	}
	said := &leave{}
	if err := rpc.ReadAnswer(raw, said); err != nil || said.Yes == nil {
		return v, protocol.Errorf(protocol.KindInvalid, "%s: the answer is no object with yes, true or false, and perhaps reason", a.Winner.Name())
	}
	return approvals.Verdict{Yes: *said.Yes, Reason: protocol.Short(strings.TrimSpace(a.Mask(said.Reason)), maxReason), Contents: q.Contents, By: permit.ByService}, nil
}
