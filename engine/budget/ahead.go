package budget

import (
	"fmt"

	"tavernsim/protocol"
)

// Ahead bounds what turns take that run ahead of the run whose facts the ledgers hold. Its ledgers
// are charged by the same facts; what was asked for ahead is held beside them, until the turn
// itself takes it. What no turn takes stays held: it was wasted.
//
// A request leaves ahead only if, in every ledger above it, it fits into what the facts and
// everything held leave, and all that is held stays within a share of the limit. So the run and
// its waste together never take more than the limit and that share.
type Ahead struct {
	tree  *Tree
	share float64
	aside map[*ledger]Amount
}

// Held is what a request ahead holds. The zero value holds nothing.
type Held struct{ holds []hold }

// NewAhead begins with what ledgers have been charged.
func NewAhead(c Config, kept []Kept, share float64) *Ahead {
	a := &Ahead{tree: New(c), share: share, aside: map[*ledger]Amount{}}
	a.tree.Restore(kept)
	return a
}

// Charge is [Tree.Charge].
func (a *Ahead) Charge(o uint32, endpoint string, at protocol.Time, took Amount) {
	a.tree.Charge(o, endpoint, at, took)
}

// Share is [Tree.Share], as the facts are.
func (a *Ahead) Share(o uint32, at protocol.Time) float64 { return a.tree.Share(o, at) }

// Hold takes the bound of a request that wants to leave ahead. why says what has no room for it, ""
// = it is held; never = it will have none, whatever is given back.
func (a *Ahead) Hold(r *Request, at protocol.Time) (h Held, why string, never bool) {
	fits := func(l *ledger, bound Amount, unpriced bool) {
		bound = bound.bounded()
		limit, part := l.Amount, l.part(a.share)
		switch {
		case l.Nano > 0 && unpriced:
			why, never = "budget of "+l.says()+": the model has no price", true
		case !bound.Within(part):
			why, never = fmt.Sprintf("budget of %s: one call may take %s, and %v of it is %s", l.says(), bound, a.share, part), true
		case !a.aside[l].Plus(bound).Within(part), !l.used(at).Plus(a.aside[l]).Plus(bound).Within(limit):
			why = "budget of " + l.says()
		}
		h.holds = append(h.holds, hold{l, bound})
	}
	for _, l := range a.tree.path(r.Agent) {
		if l != nil && !never {
			fits(l, r.Bound, r.Unpriced)
		}
	}
	for _, p := range r.Parts {
		if l := a.tree.endpoints[p.Endpoint]; l != nil && !never {
			fits(l, p.Bound, p.Unpriced)
		}
	}
	if why != "" {
		return Held{}, why, never
	}
	for _, x := range h.holds {
		a.aside[x.ledger] = a.aside[x.ledger].Plus(x.most)
	}
	return h, "", false
}

// part is a share of each limit, rounded down; what has a limit has at least 1.
func (l *ledger) part(share float64) Amount {
	of := func(n int64) int64 {
		if n <= 0 {
			return 0
		}
		return max(1, int64(float64(n)*share))
	}
	return Amount{of(l.Tokens), of(l.Calls), of(l.Nano), of(l.Micro), of(l.Bytes)}
}

// Answered replaces the bound of a request by what its answer took of an endpoint; "" = of none.
func (a *Ahead) Answered(h *Held, o uint32, endpoint string, took Amount) {
	if h.holds == nil {
		return
	}
	a.Release(h)
	took = took.bounded()
	a.tree.over(o, endpoint, func(l *ledger) {
		a.aside[l] = a.aside[l].Plus(took)
		h.holds = append(h.holds, hold{l, took})
	})
}

// Release gives back what a request holds: the turn itself has taken it, or it never left.
func (a *Ahead) Release(h *Held) {
	for _, x := range h.holds {
		a.aside[x.ledger] = a.aside[x.ledger].Minus(x.most)
	}
	h.holds = nil
}
