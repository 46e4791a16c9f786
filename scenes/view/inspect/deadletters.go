package inspect

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/deadletters"
)

// DeadLetterQuery chooses dead letters; empty fields choose all.
type DeadLetterQuery struct {
	Span
	Reasons []string
	Types   []string // a name may end in *
	Agent   string   // source, target or receiver
	Limit   int      // 0 = all
}

// letterKey names a dead letter: the fact, and receiver and event where it tells
// of several.
type letterKey struct {
	seq          uint64
	agent, event string
}

func keyOf(l *deadletters.Letter) letterKey { return letterKey{l.Seq, l.Agent, l.Event} }

// DeadLetters hands over the dead letters that q chooses, in order.
func (s *Scene) DeadLetters(q DeadLetterQuery, yield func(deadletters.Letter) error) error {
	query, err := s.Query(q.Span, persistence.Query{Kinds: deadletters.Kinds()})
	if err != nil {
		return err
	}
	again, err := s.redelivered()
	if err != nil {
		return err
	}
	events, err := s.lookUp(query)
	if err != nil {
		return err
	}
	waves, n := s.waves(), 0
	err = s.facts(query, func(r protocol.Record, fact protocol.Fact) (err error) {
		for _, l := range deadletters.Of(fact, s.name) {
			if err := events.complete(r.Kind, &l); err != nil {
				return err
			}
			if !q.wants(&l) {
				continue
			}
			l.Seq, l.Time = r.Seq, r.Time.String()
			l.Redelivered = again[keyOf(&l)]
			if l.Wave, err = waves.of(r.Seq); err != nil {
				return err
			}
			if err := yield(l); err != nil {
				return err
			}
			if n++; n == q.Limit {
				return ErrStop
			}
		}
		return nil
	})
	if err == nil && n == 0 {
		err = s.Known(q.Agent) // letters are also written to those who do not exist
	}
	return err
}

func (q *DeadLetterQuery) wants(l *deadletters.Letter) bool {
	return (len(q.Reasons) == 0 || slices.Contains(q.Reasons, l.Reason)) && MatchesAny(q.Types, l.Type) &&
		(q.Agent == "" || q.Agent == l.Source || q.Agent == l.Agent || l.Draft() != nil && slices.Contains(l.Draft().Targets, q.Agent))
}

// redelivered lists the dead letters that were sent again. They are as many as
// somebody asked for by hand.
func (s *Scene) redelivered() (map[letterKey]bool, error) {
	done := map[letterKey]bool{}
	err := s.journal.Scan(persistence.Query{Kinds: []string{agenda.FactRedelivered}}, func(r protocol.Record) error {
		fact, err := s.Fact(r)
		if x, ok := fact.(*agenda.Redelivered); ok {
			for _, l := range x.Letters {
				d, err := protocol.ReadDraft(l.Draft)
				if err != nil {
					return err
				}
				done[letterKey{l.Seq, l.Agent, d.ID}] = true
			}
		}
		return err
	})
	return done, err
}

// LetterGroup counts dead letters that have something in common.
type LetterGroup struct {
	Name    string               `json:"name"`
	Count   int64                `json:"count"`
	First   string               `json:"first"` // time
	Last    string               `json:"last"`
	Types   []Count              `json:"types"`   // the most frequent
	Sources []Count              `json:"sources"` // the most frequent
	Example []deadletters.Letter `json:"example"` // the first one
}

// Groups of dead letters.
const (
	ByReason = "reason"
	ByType   = "type"
	BySource = "source"
)

// groupTops bounds the types and sources that a group names.
const groupTops = 5

// GroupDeadLetters counts the dead letters that q chooses by reason, type or
// source, the most frequent first.
func (s *Scene) GroupDeadLetters(q DeadLetterQuery, by string) ([]LetterGroup, error) {
	name := map[string]func(*deadletters.Letter) string{
		ByReason: func(l *deadletters.Letter) string { return l.Reason },
		ByType:   func(l *deadletters.Letter) string { return l.Type },
		BySource: func(l *deadletters.Letter) string { return l.Source },
	}[by]
	if name == nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "group %q: want %s, %s or %s", by, ByReason, ByType, BySource)
	}
	groups, types, sources, total := map[string]*LetterGroup{}, map[string]map[string]int64{}, map[string]map[string]int64{}, map[string]int64{}
	err := s.DeadLetters(q, func(l deadletters.Letter) error {
		key := name(&l)
		g := groups[key]
		if g == nil {
			g = &LetterGroup{Name: key, First: l.Time, Example: []deadletters.Letter{l}}
			groups[key], types[key], sources[key] = g, map[string]int64{}, map[string]int64{}
		}
		g.Last = l.Time
		total[key] += l.Count
		types[key][l.Type] += l.Count
		sources[key][l.Source] += l.Count
		return nil
	})
	list := []LetterGroup{}
	for _, c := range rundir.Counts(total) {
		g := groups[c.Name]
		g.Count, g.Types, g.Sources = c.Count, firstOf(rundir.Counts(types[c.Name])), firstOf(rundir.Counts(sources[c.Name]))
		list = append(list, *g)
	}
	return list, err
}

func firstOf(list []Count) []Count { return list[:min(len(list), groupTops)] }
