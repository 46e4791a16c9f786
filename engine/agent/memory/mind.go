package memory

import (
	"slices"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

// Rules are what a profile says of the memory of its agents.
type Rules struct {
	Keep     int           // most episodes
	Recall   int           // most that a turn is shown
	HalfLife time.Duration // of recency
	Reflect  *Triggers     // nil = nothing begins a reflection by itself

	Consolidate int               // like episodes that get a note before sleep; 0 = none do
	Summary     *Summarising      // nil = what the history loses is lost
	Writes      map[string]string // of reflections, by entry type or profile.AnyType: the base of entries that name none
	History     *Talking          // nil = the machine keeps the history, by the number of utterances
}

// Bounds of a Mind beside its rules.
const (
	MaxMet  = 1_000 // whom it has met; beyond it who was met first is met anew
	maxPart = 200   // bytes of one thing that was said or done
	maxText = 1_200 // bytes of an episode
)

// Episode is what one turn was about. It never changes.
type Episode struct {
	Turn       uint64
	At         protocol.Time
	Importance int64 // 1 to 10
	Text       string
	Of         int64 // episodes of which it is a note; 0 = it is none
	Noted      bool  // it is in a note

	terms  words.Terms
	length int64 // of the terms
}

// Mind is what an agent remembers. nil remembers nothing.
type Mind struct {
	episodes []*Episode // oldest first
	met      []string   // instance ids, oldest first
	since    Since
	slept    uint64   // turn in which like episodes were looked for last
	recent   []Line   // what the history has, oldest first
	summary  []Line   // of what it has no more
	spoken   []Spoken // the history by partners, oldest first
	talks    []Talk   // of what that has no more
	turn     Turn     // whose facts are being folded
}

// Since is what happened since the last reflection.
type Since struct {
	Turn       uint64         // of it; 0 = there was none
	At         protocol.Time  // of it
	Turns      int64          // that ended
	Failures   int64          // turns in a row in which something failed
	Importance int64          // of the episodes
	Day        int64          // of the last one, in days since 1970
	Count      int64          // of those on that day
	State      map[string]any // private, after it; nil = there was none
}

// Episodes lists the episodes, oldest first. The list is the caller's.
func (m *Mind) Episodes() []*Episode {
	if m == nil {
		return nil
	}
	return slices.Clone(m.episodes)
}

// Since is what happened since the last reflection.
func (m *Mind) Since() Since {
	if m == nil {
		return Since{}
	}
	return m.since
}

// next is a copy that may be changed.
func (m *Mind) next() *Mind {
	if m == nil {
		return &Mind{}
	}
	c := *m
	return &c
}

// Note takes a fact of the turn.
func (m *Mind) Note(f agentfact.Fact) *Mind {
	n := m.next()
	n.turn = n.turn.note(f)
	return n
}

// Heard takes an event that the turn has perceived.
func (m *Mind) Heard(h Heard) *Mind {
	n := m.next()
	n.turn = n.turn.hear(h, n.met)
	return n
}

// End closes the turn, after which the private state is state.
func (m *Mind) End(r *Rules, f *agentfact.TurnEnded, at protocol.Time, state map[string]any) *Mind {
	n := m.next()
	t := n.turn
	n.turn = Turn{}
	if f.Outcome == agentfact.OutcomeInterrupted || f.Outcome == agentfact.OutcomeIdle {
		return n
	}
	t = t.end(f)
	for _, who := range t.new {
		n.met = append(slices.Clip(n.met[max(0, len(n.met)+1-MaxMet):]), who)
	}
	if e, ok := t.episode(f.Turn, at); ok && r.Keep > 0 {
		n.keep(r, e)
	}
	if r.Consolidate > 0 && f.Asleep {
		n.consolidate(r, f.Turn, at)
	}
	if r.History != nil {
		n.talk(r, &t, at)
	} else if r.Summary != nil {
		n.say(r.Summary, append(slices.Clone(t.told), t.said...), at)
	}
	if r.Reflect != nil {
		n.since = n.since.after(&t, f.Turn, at, state)
	}
	return n
}

// keep adds an episode, and forgets the one of the lowest rank beyond the bound.
func (m *Mind) keep(r *Rules, e *Episode) {
	list := append(slices.Clip(m.episodes), e)
	if len(list) > r.Keep {
		least := 0
		for i := 1; i < len(list)-1; i++ {
			if list[i].rise(r, e.At) < list[least].rise(r, e.At) {
				least = i
			}
		}
		list = slices.Delete(list, least, least+1)
	}
	m.episodes = list
}

// prepare counts the terms of an episode.
func (e *Episode) prepare(s *words.Stemmer) *Episode {
	e.terms, e.length = words.Count([]words.Part{{Text: words.Fold(e.Text), Weight: 1}}, s)
	return e
}
