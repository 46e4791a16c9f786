package budget

import (
	"math"
	"strings"

	"tavernsim/protocol"
)

// Tools is what the tools of a scene may take: calls that executors carry out, tasks too. A
// limit of 0 is none.
type Tools struct {
	Calls   int64   `json:"calls,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Bytes   int64   `json:"bytes,omitempty"`
	Money   float64 `json:"money,omitempty"` // dollars
	Stop    string  `json:"stop,omitempty"`
}

// StopBudget lets a scene end when a call is refused.
const StopBudget = "budget"

// MaxSeconds bounds the time of tools.
const MaxSeconds = 1e9

// Limits converts the budget; nil gives nil. Files are checked by their rules.
func (b *Tools) Limits() *Limits {
	if b == nil {
		return nil
	}
	l := &Limits{On: Action{Do: Refuse}, Amount: Amount{Calls: b.Calls, Nano: int64(math.Round(b.Money * Dollar)), Micro: int64(math.Ceil(b.Seconds * 1e6)), Bytes: b.Bytes}}
	if b.Stop == StopBudget {
		l.On.Do = End
	}
	return l
}

// OfTools is the ledger of the tools of a scene.
const OfTools = "tools"

// ToolNumbers is added to the numbers of calls of tools: models are numbered from 1, too.
const ToolNumbers = 1 << 30

// refusedTool begins the text of every refusal of a call of a tool.
const refusedTool = "tool_budget of the scene: "

// ToolsAreOut is why a task is refused.
const ToolsAreOut = refusedTool + "it has no room for the call"

// RefusedTool reports whether a call of a tool failed because of the budget.
func RefusedTool(kind protocol.ErrorKind, text string) bool {
	return kind == protocol.KindLimit && strings.HasPrefix(text, refusedTool)
}

// Exceeded reports whether more counts in a ledger than its limit. Time and output of tools have no bound before the answer is there.
func Exceeded(ledger string, used, limit Amount) bool {
	if ledger == OfTools {
		used.Micro, used.Bytes = 0, 0
	}
	return !used.Within(limit)
}

// HasTools reports whether tools have a budget.
func (t *Tree) HasTools() bool { return t.tools != nil }

// HasModels reports whether models have one, or what they take is counted.
func (t *Tree) HasModels() bool { return t.cfg.HasModels() }

// OfferTasks is what tasks may take: what facts, turns under way and calls that are out leave of the budget of tools; nil = there is
// none. A limit that is reached is negative, one that is not there 0. No call is granted until the tasks are counted
// ([Tree.TasksCounted]).
func (t *Tree) OfferTasks() *Amount {
	if t.tools == nil {
		return nil
	}
	t.offered = true
	used, limit := t.tools.Used.Plus(t.tools.spent).Plus(t.tools.reserved), t.tools.Amount
	left := func(limit, used int64) int64 {
		switch {
		case limit <= 0:
			return 0
		case used >= limit:
			return -1
		}
		return limit - used
	}
	return &Amount{Calls: left(limit.Calls, used.Calls), Nano: left(limit.Nano, used.Nano), Micro: left(limit.Micro, used.Micro), Bytes: left(limit.Bytes, used.Bytes)}
}

// TasksCounted ends an offer: facts have charged what tasks took of it.
func (t *Tree) TasksCounted() { t.offered = false }

// ChargeTools counts what a fact says that tools took, and how many calls were refused. It
// says what the budget demands: End, or nothing.
func (t *Tree) ChargeTools(at protocol.Time, a Amount, refused int64) (on string) {
	if t.tools == nil {
		return ""
	}
	t.tools.charge(at, a)
	if t.tools.Refused += refused; refused > 0 && t.tools.On.Do == End {
		on = End
	}
	return on
}

// fitTool is what a call has to reserve: itself and its price. Of time and output nobody knows the bound: once the
// limit is reached nothing leaves any more.
func (t *Tree) fitTool(r *Request, at protocol.Time) (holds []hold, barred []string, refused *Refusal, waits bool) {
	l, bound := t.tools, r.Bound.bounded()
	most := bound
	most.Micro, most.Bytes = 1, 1
	settled := l.used(at).Plus(most)
	if refused = l.refusal(settled, most, false, at); refused != nil {
		_, why, _ := strings.Cut(refused.Text, ": ")
		refused.Text = refusedTool + why
		return nil, nil, refused, false
	}
	return []hold{{l, bound}}, nil, nil, !settled.Plus(l.reserved).Within(l.Amount)
}
