package travel

import (
	"cmp"
	"slices"

	"tavernsim/protocol"
	"tavernsim/protocol/grown"
)

// Limits of a scene.
const (
	MaxTrips = 1000      // open tickets
	MaxState = 256 << 10 // encoded state of an agent that goes
	maxError = 300       // of a refused ticket, in bytes
)

// State is what a scene keeps. The zero value is that of a scene without trips.
type State struct {
	Sent  []Sent // by scene
	Open  []Trip // by scene, then by number
	Taken []Taken
	Extra []Extra // by agent
	Mail  []Mail  // open tickets of parcels, by scene, then by number
}

// Extra are numbers of turns that an agent had and that are not counted here: those that it has here
// are numbered on.
type Extra struct {
	Agent uint32
	Turns uint64
}

// Sent counts the tickets to one scene.
type Sent struct {
	To   string
	Last uint64
}

// Trip is an open ticket.
type Trip struct {
	To      string
	Number  uint64
	Agent   uint32
	Arrives protocol.Time
	Answer  protocol.Time
	Closed  uint64
	State   protocol.Raw
	Turns   uint64
}

// Mail is an open ticket of a parcel.
type Mail struct {
	To      string
	Number  uint64
	Arrives protocol.Time
	Answer  protocol.Time
	Closed  uint64
	Parcel  []Item
}

// Taken are the tickets of another scene.
type Taken struct {
	From    string
	Last    uint64 // every ticket up to it was taken or refused
	Refused []Refused
}

// Refused is a ticket whose agent was turned away.
type Refused struct {
	Number uint64
	Error  string
}

func (x Sent) scene(id string) int  { return cmp.Compare(x.To, id) }
func (x Taken) scene(id string) int { return cmp.Compare(x.From, id) }
func (x Extra) agent(o uint32) int  { return cmp.Compare(x.Agent, o) }

// Elsewhere is how many numbers of turns an agent had that are not counted in this scene: those of
// its turns in other scenes, and those that were cut short.
func (s *State) Elsewhere(o uint32) uint64 {
	if i, found := slices.BinarySearchFunc(s.Extra, o, Extra.agent); found {
		return s.Extra[i].Turns
	}
	return 0
}

// CutShort takes the number of a turn that may be under way, or has failed, when its agent leaves.
func (s *State) CutShort(o uint32) { s.came(o, s.Elsewhere(o)+1) }

func (s *State) came(o uint32, turns uint64) {
	i, found := slices.BinarySearchFunc(s.Extra, o, Extra.agent)
	if !found {
		s.Extra = slices.Insert(s.Extra, i, Extra{Agent: o})
	}
	s.Extra[i].Turns = turns
}

// Empty reports whether nobody has ever left for another scene or come from one, and no turn was cut
// short.
func (s *State) Empty() bool { return len(s.Sent)+len(s.Taken)+len(s.Extra) == 0 }

// Next is the number of the next ticket to a scene, and the last of which all have an
// answer.
func (s *State) Next(to string) (number, closed uint64) {
	if i, found := slices.BinarySearchFunc(s.Sent, to, Sent.scene); found {
		number = s.Sent[i].Last
	}
	closed = number
	for i := range s.Open {
		if t := &s.Open[i]; t.To == to {
			closed = min(closed, t.Number-1)
		}
	}
	for i := range s.Mail {
		if m := &s.Mail[i]; m.To == to {
			closed = min(closed, m.Number-1)
		}
	}
	return number + 1, closed
}

// Trip is an open ticket; nil = it is closed, or was never open.
func (s *State) Trip(to string, number uint64) *Trip {
	for i := range s.Open {
		if t := &s.Open[i]; t.To == to && t.Number == number {
			return t
		}
	}
	return nil
}

// Posted is the open ticket of a parcel; nil = it is closed, or was never open.
func (s *State) Posted(to string, number uint64) *Mail {
	for i := range s.Mail {
		if m := &s.Mail[i]; m.To == to && m.Number == number {
			return m
		}
	}
	return nil
}

// Travels reports whether an agent of the scene has an open ticket. Nobody takes its seat.
func (s *State) Travels(agent uint32) bool {
	return slices.ContainsFunc(s.Open, func(t Trip) bool { return t.Agent == agent })
}

// Has reports whether a ticket from another scene was decided, and why it was refused.
func (s *State) Has(from string, number uint64) (refused string, has bool) {
	i, found := slices.BinarySearchFunc(s.Taken, from, Taken.scene)
	if !found || number > s.Taken[i].Last {
		return "", false
	}
	for _, r := range s.Taken[i].Refused {
		if r.Number == number {
			return r.Error, true
		}
	}
	return "", true
}

// Fork is a copy that goes its own way.
func (s *State) Fork() State {
	c := State{slices.Clone(s.Sent), slices.Clone(s.Open), slices.Clone(s.Taken), slices.Clone(s.Extra), slices.Clone(s.Mail)}
	for i := range c.Taken {
		c.Taken[i].Refused = slices.Clone(c.Taken[i].Refused)
	}
	return c
}

// Apply folds a fact.
func (s *State) Apply(f Fact) error {
	switch x := f.(type) {
	case *Departed:
		s.Open = append(s.Open, Trip{x.To, x.Number, x.Agent, x.Arrives, x.Answer, x.Closed, x.State, x.Turns})
		return s.sent(f, x.To, x.Number)
	case *Posted:
		s.Mail = append(s.Mail, Mail{x.To, x.Number, x.Arrives, x.Answer, x.Closed, x.Parcel})
		return s.sent(f, x.To, x.Number)
	case *Reached:
		return s.answered(f, x.To, x.Number)
	case *Returned:
		s.came(x.Agent, x.Elsewhere)
		return s.answered(f, x.To, x.Number)
	case *Arrived:
		s.came(x.Agent, x.Elsewhere)
		return s.take(f, x.From, x.Number, x.Closed, "")
	case *TurnedAway:
		return s.take(f, x.From, x.Number, x.Closed, cmp.Or(x.Error, "refused"))
	case *Received:
		return s.take(f, x.From, x.Number, x.Closed, "")
	case *Delivered:
		n := len(s.Mail)
		s.Mail = slices.DeleteFunc(s.Mail, func(m Mail) bool { return m.To == x.To && m.Number == x.Number })
		if len(s.Mail) == n {
			return damaged(f, x.Number)
		}
	}
	return nil
}

func (s *State) sent(f Fact, to string, number uint64) error {
	i, found := slices.BinarySearchFunc(s.Sent, to, Sent.scene)
	if !found {
		s.Sent = slices.Insert(s.Sent, i, Sent{To: to})
	}
	if s.Sent[i].Last+1 != number {
		return damaged(f, number)
	}
	s.Sent[i].Last = number
	return nil
}

func (s *State) answered(f Fact, to string, number uint64) error {
	n := len(s.Open)
	s.Open = slices.DeleteFunc(s.Open, func(t Trip) bool { return t.To == to && t.Number == number })
	if len(s.Open) == n {
		return damaged(f, number)
	}
	return nil
}

func (s *State) take(f Fact, from string, number, closed uint64, refused string) error {
	i, found := slices.BinarySearchFunc(s.Taken, from, Taken.scene)
	if !found {
		s.Taken = slices.Insert(s.Taken, i, Taken{From: from})
	}
	t := &s.Taken[i]
	if number != t.Last+1 {
		return damaged(f, number)
	}
	t.Last = number
	t.Refused = slices.DeleteFunc(t.Refused, func(r Refused) bool { return r.Number <= closed })
	if refused != "" {
		t.Refused = append(t.Refused, Refused{number, protocol.Short(refused, maxError)})
	}
	return nil
}

func damaged(f Fact, number uint64) error {
	return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: the ticket %d does not follow from those before it: facts are missing or stand elsewhere, bring the journal back from a copy", f.FactKind(), number)
}

// Snapshot encodes the state; nil when it is empty.
func (s *State) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	if s.Empty() {
		return nil, nil
	}
	if len(s.Mail) == 0 {
		return grown.Marshal(codec, s, 4) // as before there were parcels
	}
	return codec.Marshal(s)
}

// Load decodes a snapshot; none is the empty state.
func Load(codec *protocol.Codec, raw protocol.Raw) (s State, err error) {
	if len(raw) > 0 {
		err = grown.Unmarshal(codec, raw, &s)
	}
	return s, err
}
