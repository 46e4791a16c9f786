package history

import (
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/travel"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/ordered"
)

// Order is an order of a journal.
type Order struct {
	*agenda.Intervened
	Time    protocol.Time
	After   time.Duration // since the start of the scene
	Wave    uint64        // that it is
	Refused string        // why nothing of it took effect; "" = it did
}

// Orders lists the orders of a journal.
func Orders(journal Journal, codec *protocol.Codec) (list []Order, err error) {
	var seqs []uint64
	if err := journal.Scan(persistence.Query{Kinds: []string{agenda.FactIntervened, agenda.FactOrderRefused}}, func(r protocol.Record) error {
		f, err := codec.ReadFact(r.Kind, r.Data)
		switch x := f.(type) {
		case *agenda.Intervened:
			if x.By == travel.By { // a letter: the scenes tell each other again
				break
			}
			list, seqs = append(list, Order{Intervened: x, Time: r.Time}), append(seqs, r.Seq)
		case *agenda.OrderRefused:
			if n := len(list); n > 0 && list[n-1].ID == x.ID {
				list[n-1].Refused = x.Error
			}
		}
		return err
	}); err != nil || len(list) == 0 {
		return nil, err
	}
	begun, err := Start(journal)
	if err != nil {
		return nil, err
	}
	i := 0
	err = journal.Waves(0, func(w persistence.Wave) error {
		for ; i < len(list) && seqs[i] <= w.Last; i++ {
			list[i].Wave, list[i].After = w.Number, list[i].Time.Sub(begun)
		}
		return nil
	})
	return list, err
}

// Dropped are the orders of a journal whose first facts were dropped, as its newest snapshot has them; else none.
func Dropped(journal Journal, codec *protocol.Codec) (ordered.List, error) {
	if journal.Begin().Number == 0 {
		return ordered.List{}, nil
	}
	wave, scene, err := stageOfSnapshot(journal, codec)
	if err != nil {
		return ordered.List{}, err
	}
	begun, now, err := agenda.TimesOf(codec, scene.Agenda)
	return ordered.Kept(scene.Orders, wave, now.Sub(begun)), err
}
