package outside

import (
	"cmp"
	"slices"

	"tavernsim/engine/agent/effect"
	"tavernsim/persistence"
	"tavernsim/protocol"
)

// OpenTurns reads what the requests under budgets of turns that have not ended hold, and what
// those took that are answered, also if others displaced them. ended is the last turn of an agent whose end is durable.
func OpenTurns(journal interface {
	Scan(q persistence.Query, yield func(protocol.Record) error) error
}, ended func(agent string) uint64) (out, spent []Lost, err error) {
	t := newTable()
	err = t.fold(journal, 1, ended)
	for _, list := range t.turns {
		for _, open := range list {
			for _, l := range t.left(open.key, func(int) bool { return false }) {
				if l.taken {
					spent = append(spent, l)
				} else {
					out = append(out, l)
				}
			}
		}
	}
	for _, list := range [][]Lost{out, spent} {
		slices.SortStableFunc(list, func(a, b Lost) int { return cmp.Compare(a.Agent, b.Agent) })
	}
	return out, spent, err
}

// fold takes the facts of a log from a wave on, but for turns that have ended.
func (t *table) fold(journal interface {
	Scan(q persistence.Query, yield func(protocol.Record) error) error
}, wave uint64, ended func(agent string) uint64) error {
	return journal.Scan(persistence.Query{}, func(r protocol.Record) error {
		e, answer, err := readFact(r)
		switch {
		case err != nil || ended != nil && e.Turn <= ended(e.Agent):
			return err
		case r.Kind == FactRequested:
			t.request(&e, wave)
			return nil
		}
		spent := Most{Moved: true}
		if p := t.find(&e); p != nil && p.most != nil {
			x, err := effect.ReadAnswered(e.Kind, answer)
			if err != nil {
				return err
			}
			spent = spentOf(x, p.most.Nano)
		}
		t.answered(&e, r.Seq, spent)
		return nil
	})
}
