package budget

import "tavernsim/protocol"

// Taken is what an answer, or what came with a failure, counts in the ledgers; saved is what it would
// have counted if it had not been recorded.
func Taken(x *protocol.ModelAnswer) (took, saved Amount) {
	took = Amount{Tokens: x.Usage.Input + x.Usage.Output, Calls: 1}
	o := x.Origin
	if o != nil {
		took.Nano = o.Cost
	}
	if o == nil || o.Budget == nil {
		return took, saved
	}
	b := o.Budget
	switch {
	case b.Saved:
		took, saved = Amount{}, took
	case b.Ledger != "" && o.Endpoint == "": // refused, or answered by a script instead
		took = Amount{}
	}
	return took.Plus(Amount{Tokens: b.Lost, Nano: b.LostNano}), saved
}
