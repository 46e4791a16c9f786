package outside

import (
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/persistence"
	"tavernsim/protocol"
)

// Spent is what an answer took that no fact of the scene has yet.
type Spent struct {
	Agent    string // instance id
	Request  int
	Endpoint string // "" = none
	Took     budget.Amount
}

// OpenTurns reads what the requests under budgets of turns that have not ended hold, and what
// those took that are answered, also if others displaced them. ended is the last turn of an agent whose end is durable.
func OpenTurns(journal interface {
	Scan(q persistence.Query, yield func(protocol.Record) error) error
}, ended func(agent string) uint64) (out []Lost, spent []Spent, err error) {
	t := newTable()
	err = t.fold(journal, 1, ended)
	for _, l := range t.allLost() {
		if l.taken {
			spent = append(spent, Spent{l.Agent, l.Request, l.Endpoint, l.Took()})
		} else {
			out = append(out, l)
		}
	}
	return out, append(spent, t.allSpent()...), err
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
			spent = spentOf(x)
		}
		t.answered(&e, r.Seq, spent)
		return nil
	})
}
