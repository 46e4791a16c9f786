package history

import (
	"errors"

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

// EndOfAll is the last of some scenes and the reason why it ended; "" = one of them can be resumed. It
// opens a journal of each and closes it.
func EndOfAll(scenes []string, open func(scene string) (*persistence.Journal, error)) (last, reason string, err error) {
	for _, last = range scenes {
		journal, err := open(last)
		if err != nil {
			return last, "", err
		}
		reason, err = End(journal)
		if err := errors.Join(err, journal.Close()); err != nil || reason == "" {
			return last, "", err
		}
	}
	return last, reason, nil
}
