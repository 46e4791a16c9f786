package history

import (
	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// End is the reason why a scene ended; "" = it can be resumed.
func End(journal Journal) (reason string, err error) {
	last := journal.Durable()
	if last.Number == 0 {
		return "", nil
	}
	err = journal.Scan(persistence.Query{From: last.First, Kinds: []string{agenda.FactEnded}}, func(r protocol.Record) error {
		if r.Kind == agenda.FactEnded {
			fact, err := machines.NewCodec().ReadFact(r.Kind, r.Data)
			if ended, ok := fact.(*agenda.Ended); ok {
				reason = ended.Reason
			}
			return err
		}
		return nil
	})
	return reason, err
}
