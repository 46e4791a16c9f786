package memory

import (
	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

// Stored is a Mind as snapshots keep it, between two turns.
type Stored struct {
	Episodes []StoredEpisode
	Met      []string
	Since    StoredSince
	Slept    uint64
	Recent   []Line
	Summary  []Line
	Spoken   []Spoken
	Talks    []Talk
}

// StoredEpisode is an episode as it is kept; its terms are counted again.
type StoredEpisode struct {
	Turn       uint64
	At         protocol.Time
	Importance int64
	Text       string
	Of         int64
	Noted      bool
}

// StoredSince is a Since as it is kept.
type StoredSince struct {
	Turn       uint64
	At         protocol.Time
	Turns      int64
	Failures   int64
	Importance int64
	Day        int64
	Count      int64
	State      protocol.Raw // nil = none
}

// Store gives the form that is kept; nil for an empty mind.
func (m *Mind) Store() *Stored {
	if m == nil {
		return nil
	}
	s := m.since
	out := &Stored{Met: m.met, Since: StoredSince{s.Turn, s.At, s.Turns, s.Failures, s.Importance, s.Day, s.Count, nil}, Slept: m.slept, Recent: m.recent, Summary: m.summary, Spoken: m.spoken, Talks: m.talks}
	if s.State != nil {
		out.Since.State = protocol.Encode(s.State)
	}
	for _, e := range m.episodes {
		out.Episodes = append(out.Episodes, StoredEpisode{e.Turn, e.At, e.Importance, e.Text, e.Of, e.Noted})
	}
	return out
}

// Load reads what Store gave.
func Load(s *Stored) (*Mind, error) {
	if s == nil {
		return nil, nil
	}
	x := &s.Since
	m := &Mind{met: s.Met, since: Since{x.Turn, x.At, x.Turns, x.Failures, x.Importance, x.Day, x.Count, nil}, slept: s.Slept, recent: s.Recent, summary: s.Summary, spoken: s.Spoken, talks: s.Talks}
	var stems words.Stemmer // what is slow is the stem of a word, and episodes share most of theirs
	for _, e := range s.Episodes {
		m.episodes = append(m.episodes, (&Episode{Turn: e.Turn, At: e.At, Importance: e.Importance, Text: e.Text, Of: e.Of, Noted: e.Noted}).prepare(&stems))
	}
	v, err := x.State.Value()
	m.since.State, _ = v.(map[string]any)
	return m, err
}
