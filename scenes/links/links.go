// Package links synchronizes the waves of linked scenes, between which agents travel or which share a
// knowledge base, and delivers their letters (engine/travel).
//
// The stage of each scene calls its [Member]: before a wave ([Member.May]), when facts are kept
// ([Member.Kept]) and when they are durable ([Member.WaveKept]), and when it stops
// ([Member.Stopped]). A letter comes to a scene as an order for a fixed time.
//
// # Promises
//
//  1. No wave begins while a letter for its time or an earlier one may still come: every
//     letter takes at least the travel time of its link. The exception is an
//     order that comes while the scene runs: its wave begins at once, so its letters may arrive
//     after their time. They are then carried out in the next wave.
//  2. A letter leaves when the facts behind it are durable, and is sent once in the life of a
//     process. Letters that were open when a process ended are sent again.
//  3. Of the scenes that run, the one whose next wave is the earliest may always begin it.
//  4. When no scene has anything left to do, they end one after the other, by their ids. A running
//     scene takes letters of another's last wave in its next wave, although its
//     own time may be later. It continues from there, and ends when all are quiet again. A letter
//     for the time limit of a scene or later does not count: it is in no wave.
//
// Methods are safe for concurrent use. Linked scenes begin at the same time, so times
// of one are times of all.
//
// # Not here
//
// The changes that a letter makes (scenes/machines); the interruption of the others when a scene stops before
// its end (scenes/run/runner).
package links

import (
	"math"
	"slices"
	"sync"

	"tavernsim/engine/agenda"
	"tavernsim/engine/cast"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// never is later than every time of a scene.
const never = protocol.Time(math.MaxInt64)

// Hub joins the linked scenes of one run.
type Hub struct {
	mu      sync.Mutex
	scenes  map[string]*Member
	all     []*Member // by id: what the hub does depends on the order of no map
	roads   []road
	tickets []ticket // whose answers were not told
	missing int      // scenes that have not joined
	again   []*again // letters of before, which are collected while the last scene joins
}

// again is a letter that is told once more.
type again struct {
	*letter
	to *Member
}

// road is a link. Letters take it in both directions.
type road struct {
	a, b *Member
	d    protocol.Duration
}

// ticket is a trip, or a parcel, that waits for its answer.
type ticket struct {
	travel.Trip
	parcel   []travel.Item
	from, to *Member
}

// Port is how a scene hears of letters and of time.
type Port struct {
	Start protocol.Time                       // of the scene
	Now   protocol.Time                       // of its last wave; Start = it has none
	End   protocol.Time                       // its limit: no letter for then or later is in a wave; 0 = it has none
	Tell  func(*machines.Order) (bool, error) // gives it an order; false = it has it
	Ask   func()                              // makes it call May again
	Who   func(ordinal uint32) cast.Member
}

// Member is one scene.
type Member struct {
	hub   *Hub
	id    string
	group int // the least place in Hub.all of the scenes to which links lead from it
	port  Port
	state travel.State // when it joined, or when it ended
	over  bool         // it has ended

	at      protocol.Time // no later wave of it is earlier; never = it has nothing to do
	waits   bool          // May was false
	letters map[string]*letter
	kept    []kept
	durable uint64 // wave
}

// letter is an order that is in no wave yet.
type letter struct {
	*travel.Letter
	at   protocol.Time
	seen bool // the stage has it
}

// kept is a fact that is not durable.
type kept struct {
	wave uint64
	fact travel.Fact
}

// New makes the hub of the scenes with links, by id; nil = there are none.
func New(links map[string][]travel.Link) *Hub {
	h := &Hub{scenes: map[string]*Member{}}
	add := func(id string) *Member {
		m := h.scenes[id]
		if m == nil {
			m = &Member{hub: h, id: id, letters: map[string]*letter{}}
			h.scenes[id], h.missing = m, h.missing+1
		}
		return m
	}
	for _, id := range protocol.SortedKeys(links) {
		for _, l := range links[id] {
			h.roads = append(h.roads, road{add(id), add(l.To), l.Travel})
		}
	}
	for _, id := range protocol.SortedKeys(h.scenes) {
		h.scenes[id].group = len(h.all)
		h.all = append(h.all, h.scenes[id])
	}
	for range h.all { // the longest way has a link less than there are scenes
		for _, r := range h.roads {
			least := min(r.a.group, r.b.group)
			r.a.group, r.b.group = least, least
		}
	}
	if len(h.all) == 0 {
		return nil
	}
	return h
}

// Of is the place of a scene; nil = no link leads from it or to it.
func (h *Hub) Of(id string) *Member {
	if h == nil {
		return nil
	}
	return h.scenes[id]
}

// Ended joins a scene that has ended before this life of the process. state is its last one;
// who gives its agents.
func (h *Hub) Ended(id string, state *travel.State, who func(uint32) cast.Member) {
	if m := h.Of(id); m != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		m.over, m.port.Who = true, who
		m.join(state)
	}
}

// Join takes a scene in that runs. None goes on before all have joined.
func (m *Member) Join(state *travel.State, port Port) {
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	m.port, m.at = port, port.Now
	m.join(state)
}

func (m *Member) join(state *travel.State) {
	h := m.hub
	m.state = state.Fork() // the stage goes on with its own
	if h.missing--; h.missing > 0 {
		return
	}
	h.again = []*again{}
	for _, from := range h.all {
		for _, t := range from.state.Open {
			h.depart(from, t, nil)
		}
		for _, m := range from.state.Mail {
			h.post(from, m)
		}
	}
	for _, m := range h.all { // an order that was due had a wave before all had joined
		m.send()
	}
	// A scene that was stopped between two letters of one moment carries out the next one as
	// soon as it has it.
	slices.SortStableFunc(h.again, func(a, b *again) int { return machines.CompareLetters(a.at, a.ID(), b.at, b.ID()) })
	for _, l := range h.again {
		l.to.give(l.letter)
	}
	h.again = nil
	h.goOn()
}

// May reports whether the scene may begin its next wave, at a time, which is that of its last wave if
// it ends then; 0 = it has nothing to do, and would end. If not, it is asked to call again when it may.
func (m *Member) May(at protocol.Time) bool {
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	if m.at = at; at == 0 {
		m.at = never
	}
	may := m.may(m.hub.earliest())
	m.waits = !may
	m.hub.goOn() // others may wait for this time
	return may
}

// Seen notes that the stage has an order.
func (m *Member) Seen(id string) {
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	if l := m.letters[id]; l != nil {
		l.seen = true
	}
}

// Kept notes a fact that is not durable yet.
func (m *Member) Kept(wave uint64, f protocol.Fact) {
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	switch x := f.(type) {
	case *agenda.Intervened:
		if l := m.letters[x.ID]; l != nil { // a scene that had nothing to do has now
			m.at = min(m.at, l.at)
			delete(m.letters, x.ID)
		}
	case travel.Fact:
		m.kept = append(m.kept, kept{wave, x})
	}
}

// WaveKept sends the letters that follow from durable facts.
func (m *Member) WaveKept(wave uint64) {
	h := m.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	m.durable = wave
	if h.missing == 0 && m.send() > 0 {
		h.goOn()
	}
}

// send sends the letters that follow from durable facts, and says from how many.
func (m *Member) send() (n int) {
	h, wave := m.hub, m.durable
	for ; n < len(m.kept) && m.kept[n].wave <= wave; n++ {
		switch x := m.kept[n].fact.(type) {
		case *travel.Departed:
			h.depart(m, travel.Trip{To: x.To, Number: x.Number, Agent: x.Agent, Arrives: x.Arrives, Answer: x.Answer, Closed: x.Closed, State: x.State, Turns: x.Turns}, nil)
		case *travel.Posted:
			h.post(m, travel.Mail(*x))
		case *travel.Arrived:
			h.answer(h.scenes[x.From], m, x.Number, "")
		case *travel.Received:
			h.answer(h.scenes[x.From], m, x.Number, "")
		case *travel.TurnedAway:
			h.answer(h.scenes[x.From], m, x.Number, x.Error)
		case *travel.Reached, *travel.Returned, *travel.Delivered: // these close what this scene has sent
		}
	}
	m.kept = slices.Delete(m.kept, 0, n)
	return n
}

// Stopped ends the part of a scene. Of one that has ended, state is the last one: an
// agent that arrives there now is refused. One that can be resumed stands where it is, and so do others.
func (m *Member) Stopped(ended bool, state *travel.State) {
	h := m.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	m.waits = false
	if !ended {
		return
	}
	m.over, m.state, m.letters = true, *state, nil
	for _, t := range slices.Clone(h.tickets) {
		if t.to == m {
			h.arrive(t)
		}
	}
	h.goOn()
}

// depart opens a ticket of which a scene has kept the fact.
func (h *Hub) depart(from *Member, trip travel.Trip, parcel []travel.Item) {
	t := ticket{trip, parcel, from, h.scenes[trip.To]}
	h.tickets = append(h.tickets, t)
	h.arrive(t)
}

func (h *Hub) post(from *Member, m travel.Mail) {
	h.depart(from, travel.Trip{To: m.To, Number: m.Number, Arrives: m.Arrives, Answer: m.Answer, Closed: m.Closed}, m.Parcel)
}

// arrive tells the scene whither a ticket is, or answers for it.
func (h *Hub) arrive(t ticket) {
	refused, had := t.to.state.Has(t.from.id, t.Number)
	switch {
	case had:
		h.answer(t.from, t.to, t.Number, refused)
	case !t.to.hears(t.Arrives):
		h.answer(t.from, t.to, t.Number, "the scene "+t.to.id+" has ended")
	case t.parcel != nil:
		t.to.tell(t.Arrives, &travel.Letter{Kind: travel.Arrive, Scene: t.from.id, Number: t.Number, Closed: t.Closed, Parcel: t.parcel})
	default:
		who := t.from.port.Who(t.Agent)
		t.to.tell(t.Arrives, &travel.Letter{Kind: travel.Arrive, Scene: t.from.id, Number: t.Number, Closed: t.Closed, Agent: who.Instance, Profile: who.Profile, State: t.State, Turns: t.Turns})
	}
}

// answer tells the scene from which a ticket is what became of it, once.
func (h *Hub) answer(from, to *Member, number uint64, refused string) {
	i := slices.IndexFunc(h.tickets, func(t ticket) bool { return t.from == from && t.to == to && t.Number == number })
	if i < 0 {
		return
	}
	t := h.tickets[i]
	h.tickets = slices.Delete(h.tickets, i, i+1)
	l := &travel.Letter{Kind: travel.Reach, Scene: to.id, Number: number}
	if refused != "" {
		l.Kind, l.Error = travel.Return, refused
	}
	from.tell(t.Answer, l)
}

// hears reports whether a letter for a time may still be in a wave of a scene. One that waits for a
// later letter would end at its limit, which others may have passed: it ends as if none came.
func (m *Member) hears(at protocol.Time) bool {
	return !m.over && (m.port.End == 0 || at < m.port.End)
}

// tell gives a scene a letter. One that has ended by then is told nothing.
func (m *Member) tell(at protocol.Time, l *travel.Letter) {
	if !m.hears(at) {
		return
	}
	x := &letter{Letter: l, at: at}
	if m.hub.again != nil {
		m.hub.again = append(m.hub.again, &again{x, m})
		return
	}
	m.give(x)
}

func (m *Member) give(l *letter) {
	id := l.ID()
	m.letters[id] = l
	o := &machines.Order{Intervened: &agenda.Intervened{ID: id, By: travel.By, Do: l.Do()}, After: l.at.Sub(m.port.Start)}
	if told, err := m.port.Tell(o); err != nil || !told { // it is in a wave already
		delete(m.letters, id)
	}
}

// goOn asks the scenes that may begin a wave now, and could not before.
func (h *Hub) goOn() {
	earliest := h.earliest()
	for _, m := range h.all {
		if m.waits && m.may(earliest) {
			m.waits = false
			m.port.Ask()
		}
	}
}

// may reports whether no letter can come for the time at which a scene stands, or before.
func (m *Member) may(earliest map[*Member]protocol.Time) bool {
	h, bound := m.hub, never
	if h.missing > 0 {
		return false
	}
	for _, l := range m.letters {
		if !l.seen {
			return false
		}
	}
	for _, r := range h.roads {
		switch m {
		case r.a:
			bound = min(bound, later(earliest[r.b], r.d))
		case r.b:
			bound = min(bound, later(earliest[r.a], r.d))
		}
	}
	for i := range h.tickets {
		if t := &h.tickets[i]; t.from == m && m.hears(t.Answer) {
			bound = min(bound, t.Answer)
		}
	}
	for _, k := range m.kept { // of one that is not durable there is no ticket yet
		if _, answer, sent := travel.Times(k.fact); sent && m.hears(answer) {
			bound = min(bound, answer)
		}
	}
	if m.at == never { // its last wave may still tell others something
		return bound == never && m == h.first(m.group)
	}
	return m.at < bound
}

// first is the first scene of a group that has not ended.
func (h *Hub) first(group int) *Member {
	return h.all[slices.IndexFunc(h.all, func(m *Member) bool { return m.group == group && !m.over })]
}

// earliest is, for each scene, before which time nothing more happens in it that a letter could
// follow from.
func (h *Hub) earliest() map[*Member]protocol.Time {
	found := make(map[*Member]protocol.Time, len(h.all))
	for _, m := range h.all {
		at := never
		if !m.over {
			at = m.at
			for _, l := range m.letters {
				at = min(at, l.at)
			}
		}
		for _, k := range m.kept {
			if arrives, answer, sent := travel.Times(k.fact); sent {
				at = min(at, arrives.Add(-answer.Sub(arrives)))
			}
		}
		found[m] = at
	}
	for i := range h.tickets { // its answer may wake the scene that waits for it
		if t := &h.tickets[i]; t.from.hears(t.Answer) {
			found[t.from] = min(found[t.from], t.Answer)
		}
	}
	reach := func(from, to *Member, d protocol.Duration) bool {
		at := later(found[from], d)
		if !to.hears(at) || at >= found[to] {
			return false
		}
		found[to] = at
		return true
	}
	for changed := true; changed; { // every link takes time, so a scene changes at most once for each other one
		changed = false
		for _, r := range h.roads {
			changed = reach(r.a, r.b, r.d) || changed
			changed = reach(r.b, r.a, r.d) || changed
		}
	}
	return found
}

func later(t protocol.Time, d protocol.Duration) protocol.Time {
	if t > never-protocol.Time(d) {
		return never
	}
	return t.Add(d.Std())
}
