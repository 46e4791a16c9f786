package order

import (
	"fmt"
	"slices"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
)

// review takes a review of a suggestion, once in an order.
func (r *reader) review(p tool.Params) error {
	kb := p.Text("kb")
	n, _ := p.Integer("suggestion")
	if n < 1 {
		return fmt.Errorf("suggestion %d: want its number, from 1", n)
	}
	if slices.ContainsFunc(r.plan.Reviews, func(x knowledge.Request) bool { return x.KB == kb && x.Suggestion == uint64(n) }) {
		return fmt.Errorf("the order reviews suggestion %d to %s already", n, protocol.Short(kb, 80))
	}
	r.plan.Reviews = append(r.plan.Reviews, knowledge.Request{
		ID: fmt.Sprintf("%s/%d", r.id, len(r.plan.Reviews)), KB: kb, By: r.by, Op: knowledge.OpReview, Permissions: []string{knowledge.PermitWrite},
		Suggestion: uint64(n), Accept: p.Flag("accept"),
	})
	return nil
}

// Reviewed says why the reviews of an order cannot be carried out, one after the other, on
// the bases as they are; "" = they can.
func (p *Plan) Reviewed(bases knowledge.State, now protocol.Time) string {
	if len(p.Reviews) == 0 {
		return ""
	}
	for _, f := range knowledge.Decide(bases, knowledge.Commit{Now: now, Requests: p.Reviews}) {
		if x, ok := f.(*knowledge.Refused); ok {
			return "review: " + x.Message
		}
	}
	return ""
}
