package budget

import (
	"cmp"
	"maps"
	"slices"

	"tavernsim/protocol"
)

// Loss is what a turn took of a ledger that left no facts: settled requests, and the most that those take which
// are out.
type Loss struct {
	Ledger                            string
	Tokens, Calls, Nano, Micro, Bytes int64 // as in [Amount]; a fact has them, which never gets a field
}

// Took is what it took.
func (x *Loss) Took() Amount { return Amount{x.Tokens, x.Calls, x.Nano, x.Micro, x.Bytes}.bounded() }

// Cut takes a turn that was cut off and will be begun anew: nothing of it is out any more, and what it took, or may
// have taken, counts until the facts of the turn do.
func (t *Tree) Cut(o uint32) {
	x := t.turns[o]
	if x == nil {
		return
	}
	t.unkeep(o, 0)
	for _, holds := range x.reserved {
		for _, h := range holds {
			h.reserved = h.reserved.Minus(h.most)
			x.spend(h.ledger, h.most)
		}
	}
	clear(x.reserved)
}

// Turns are the agents whose turns have taken something that no fact says yet, in their order.
func (t *Tree) Turns() (list []uint32) {
	list = slices.AppendSeq(slices.Collect(maps.Keys(t.turns)), maps.Keys(t.expected))
	slices.Sort(list)
	return slices.Compact(list)
}

// Abandon takes a turn that leaves no facts, and gives what a fact has to charge instead: see [Tree.ChargeLost].
func (t *Tree) Abandon(o uint32) (list []Loss) {
	if list = t.expected[o]; list != nil {
		delete(t.expected, o)
		return list
	}
	t.Cut(o)
	if x := t.turns[o]; x != nil {
		for l, took := range x.spent {
			if took != (Amount{}) {
				list = append(list, Loss{l.Name, took.Tokens, took.Calls, took.Nano, took.Micro, took.Bytes})
			}
		}
	}
	t.Merged(o)
	slices.SortFunc(list, func(a, b Loss) int { return cmp.Compare(a.Ledger, b.Ledger) })
	return list
}

// ChargeLost counts what a fact says that an abandoned turn took.
func (t *Tree) ChargeLost(at protocol.Time, list []Loss) {
	t.each(list, func(l *ledger, took Amount) { l.charge(at, took) })
}

// Expect has the next turn that an agent abandons give this list: a history has it, and nothing is under way.
func (t *Tree) Expect(o uint32, list []Loss) {
	if t.expected == nil {
		t.expected = map[uint32][]Loss{}
	}
	t.expected[o] = list
}

// each calls yield for the ledgers of a list that are there.
func (t *Tree) each(list []Loss, yield func(*ledger, Amount)) {
	for _, x := range list {
		if l := t.named(x.Ledger); l != nil {
			yield(l, x.Took())
		}
	}
}

// spend counts what a turn under way took of a ledger.
func (x *turn) spend(l *ledger, took Amount) {
	l.spent, x.spent[l] = l.spent.Plus(took), x.spent[l].Plus(took)
}
