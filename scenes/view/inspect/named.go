package inspect

import (
	"slices"

	"tavernsim/engine/bus"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/view/deadletters"
)

// maxLookedUp bounds the events that a view looks up by name. Letters of others
// are listed as their fact tells of them, and cannot be sent again.
const maxLookedUp = 100_000

// named finds the facts that routed events.
type named struct {
	scene *Scene
	seq   map[string]uint64 // by event id; 0 = not found
	last  *bus.Routed
}

// lookUp prepares for the letters of a query: it walks over them once, and once
// over what was routed before their end, until all are found.
func (s *Scene) lookUp(q persistence.Query) (*named, error) {
	u := &named{scene: s, seq: map[string]uint64{}}
	q.Kinds = slices.DeleteFunc(deadletters.Kinds(), func(kind string) bool { return !deadletters.NamesOnly(kind) })
	end := uint64(0)
	err := s.facts(q, func(r protocol.Record, fact protocol.Fact) error {
		end = r.Seq
		for _, l := range deadletters.Of(fact, s.name) {
			if _, known := u.seq[l.Event]; l.Event != "" && (known || len(u.seq) < maxLookedUp) {
				u.seq[l.Event] = 0
			}
		}
		return nil
	})
	if err != nil || len(u.seq) == 0 {
		return u, err
	}
	return u, u.walk(end)
}

func (u *named) walk(end uint64) error {
	missing := len(u.seq)
	return u.scene.facts(persistence.Query{To: end, Kinds: []string{bus.FactRouted}}, func(r protocol.Record, fact protocol.Fact) error {
		if at, wanted := u.seq[eventID(fact)]; !wanted || at != 0 {
			return nil
		}
		u.seq[eventID(fact)] = r.Seq
		if missing--; missing == 0 {
			return ErrStop
		}
		return nil
	})
}

// complete fills a letter that only names its event.
func (u *named) complete(kind string, l *deadletters.Letter) error {
	l.Count = max(l.Count, 1)
	seq := u.seq[l.Event]
	if seq == 0 || !deadletters.NamesOnly(kind) {
		return nil
	}
	if u.last == nil || u.last.ID != l.Event {
		err := u.scene.journal.Scan(persistence.Query{From: seq, To: seq}, func(r protocol.Record) error {
			fact, err := u.scene.Fact(r)
			u.last, _ = fact.(*bus.Routed)
			return err
		})
		if err != nil {
			return err
		}
	}
	l.Complete(u.last)
	return nil
}
