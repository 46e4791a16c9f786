package agenda

import (
	"cmp"
	"math"
	"slices"

	"tavernsim/protocol"
)

// Bounds are the capacities of the lanes of one agent's inbox that block, by priority
// from low; 0 = the lane does not block.
type Bounds [4]int

// blocking is the state of lanes that block; its maps are nil without such lanes. A
// lane is full if more events than its bound were routed to it since the beginning of
// the last turn of the receiver that has ended. The publisher of an event to a full
// lane waits: it is not woken before the end of a turn of the receiver that began
// after the event.
//
// Agents never wait in a circle. An agent is blocked for a receiver only if the
// receiver does not wait for the agent, directly or through others. So every chain
// ends at an agent that does not wait. That agent is due, because only an event that
// wakes its receiver blocks its publisher.
type blocking struct {
	unread  map[uint32]*unread  // by receiver: events since its last ended turn began
	waits   map[uint32][]wait   // by publisher: its waits, by ordinal of the receiver
	waiters map[uint32][]uint32 // by receiver: the waiting publishers, by ordinal
}

type wait struct {
	receiver uint32
	wave     uint64 // of the event
}

// unread counts by lane.
type unread [4]lane

// lane counts events by the wave in which they were routed, the oldest first. It drops
// the waves before the newest ones that suffice to fill it.
type lane struct {
	total int
	runs  []run
}

type run struct {
	wave uint64
	n    int
}

func (l *lane) add(wave uint64, bound int) {
	if n := len(l.runs); n > 0 && l.runs[n-1].wave == wave {
		l.runs[n-1].n++
	} else {
		l.runs = append(l.runs, run{wave, 1})
	}
	l.total++
	for l.total-l.runs[0].n > bound {
		l.drop()
	}
}

func (l *lane) drop() {
	l.total -= l.runs[0].n
	l.runs = slices.Delete(l.runs, 0, 1)
}

// before drops the events of earlier waves.
func (l *lane) before(wave uint64) {
	for len(l.runs) > 0 && l.runs[0].wave < wave {
		l.drop()
	}
}

func place(p protocol.Priority) int {
	return int(min(max(p, protocol.Low), protocol.Critical) - protocol.Low)
}

// bound is the bound of a lane; 0 = the lane does not block.
func (s *State) bound(o uint32, p protocol.Priority) int {
	if b := s.cfg.Timing(o).Blocks; b != nil {
		return b[place(p)]
	}
	return 0
}

// Received counts an event that was routed to an agent in the given wave.
func (s *State) Received(o uint32, p protocol.Priority, wave uint64) {
	bound := s.bound(o, p)
	if bound == 0 {
		return
	}
	if s.blocking.unread == nil {
		s.blocking.unread = map[uint32]*unread{}
	}
	u := s.blocking.unread[o]
	if u == nil {
		u = &unread{}
		s.blocking.unread[o] = u
	}
	u[place(p)].add(wave, bound)
}

// Blocks decides whether the publisher of an event that was just received waits
// for the receiver.
func (s *State) Blocks(publisher, receiver uint32, p protocol.Priority) bool {
	return publisher != receiver && s.full(receiver, p) && s.wakes(receiver, p) && !s.slots[publisher].givenUp &&
		!s.waitsFor(publisher, receiver) && !s.leads(receiver, publisher)
}

func (s *State) full(o uint32, p protocol.Priority) bool {
	u := s.blocking.unread[o]
	return u != nil && u[place(p)].total > s.bound(o, p)
}

// wakes reports whether an event puts its receiver on the agenda. It does not read
// the agenda, because on the realtime clock a fold does not know which agents were
// woken.
func (s *State) wakes(o uint32, p protocol.Priority) bool {
	sl := &s.slots[o]
	return !sl.givenUp && !sl.resting && sl.gates == 0 && (!sl.asleep || p >= sl.wakeAbove)
}

func (s *State) waitsFor(publisher, receiver uint32) bool {
	_, found := s.findWait(publisher, receiver)
	return found
}

func (s *State) findWait(publisher, receiver uint32) (int, bool) {
	return slices.BinarySearchFunc(s.blocking.waits[publisher], receiver, func(w wait, o uint32) int { return cmp.Compare(w.receiver, o) })
}

// maxWalk bounds the waits that one decision follows. A longer chain counts as a
// circle, so the publisher is not blocked.
const maxWalk = 1024

// leads reports whether an agent waits for another, directly or through others.
func (s *State) leads(from, to uint32) bool {
	if len(s.blocking.waits[from]) == 0 || len(s.blocking.waiters[to]) == 0 {
		return false
	}
	seen, todo, walked := map[uint32]bool{from: true}, []uint32{from}, 0
	for len(todo) > 0 {
		o := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, w := range s.blocking.waits[o] {
			if walked++; w.receiver == to || walked > maxWalk {
				return true
			}
			if !seen[w.receiver] {
				seen[w.receiver] = true
				todo = append(todo, w.receiver)
			}
		}
	}
	return false
}

// Blocked applies the fact that Blocks decided, in the given wave.
func (s *State) Blocked(f Blocked, wave uint64) {
	for _, o := range f.Receivers {
		s.wait(f.Agent, o, wave)
	}
}

func (s *State) wait(publisher, receiver uint32, wave uint64) {
	b := &s.blocking
	if b.waits == nil {
		b.waits, b.waiters = map[uint32][]wait{}, map[uint32][]uint32{}
	}
	i, found := s.findWait(publisher, receiver)
	if found {
		return // it waits for an earlier event already
	}
	b.waits[publisher] = slices.Insert(b.waits[publisher], i, wait{receiver, wave})
	j, _ := slices.BinarySearch(b.waiters[receiver], publisher)
	b.waiters[receiver] = slices.Insert(b.waiters[receiver], j, publisher)
	s.slots[publisher].blocked = true
}

// took applies the end of a turn that began in a wave. The turn perceived all events
// of earlier waves, so publishers that waited since then continue.
func (s *State) took(o uint32, wave uint64, now protocol.Time) {
	if u := s.blocking.unread[o]; u != nil {
		left := 0
		for i := range u {
			u[i].before(wave)
			left += u[i].total
		}
		if left == 0 {
			delete(s.blocking.unread, o)
		}
	}
	s.letGo(o, wave, now)
}

// letGo ends the waits for an agent that began in waves before the given one.
func (s *State) letGo(o uint32, before uint64, now protocol.Time) {
	for _, publisher := range slices.Clone(s.blocking.waiters[o]) {
		i, _ := s.findWait(publisher, o)
		if s.blocking.waits[publisher][i].wave < before {
			s.endWait(publisher, i)
			s.goOn(publisher, now)
		}
	}
}

// endWait removes a wait from both maps.
func (s *State) endWait(publisher uint32, i int) {
	b := &s.blocking
	o := b.waits[publisher][i].receiver
	j, _ := slices.BinarySearch(b.waiters[o], publisher)
	if b.waiters[o] = slices.Delete(b.waiters[o], j, j+1); len(b.waiters[o]) == 0 {
		delete(b.waiters, o)
	}
	if b.waits[publisher] = slices.Delete(b.waits[publisher], i, i+1); len(b.waits[publisher]) == 0 {
		delete(b.waits, publisher)
	}
}

// goOn puts an agent without waits back on the agenda. If it was due meanwhile, it is
// due at the next moment.
func (s *State) goOn(o uint32, now protocol.Time) {
	if len(s.blocking.waits[o]) == 0 {
		s.slots[o].blocked = false
		s.back(o, now)
	}
}

// back puts an agent on the agenda that was kept off it.
func (s *State) back(o uint32, now protocol.Time) {
	sl, at := &s.slots[o], s.grid(now.Add(s.cfg.reaction()))
	sl.queuedAt = 0
	if sl.due != 0 {
		sl.due = max(sl.due, at)
	}
	if sl.heard != 0 {
		sl.heard = max(sl.heard, at)
	}
	s.enqueue(o)
}

// everybody is greater than every wave.
const everybody = math.MaxUint64

// fell ends all waits for an agent that failed. If the agent was given up, its own
// waits end, too.
func (s *State) fell(o uint32, now protocol.Time) {
	s.letGo(o, everybody, now)
	if !s.slots[o].givenUp {
		return
	}
	delete(s.blocking.unread, o)
	for n := len(s.blocking.waits[o]); n > 0; n-- {
		s.endWait(o, n-1)
	}
	s.slots[o].blocked = false
}

// Waiting counts the agents that are blocked.
func (s *State) Waiting() int { return len(s.blocking.waits) }

// waitingFor lists the receivers for which an agent waits.
func (s *State) waitingFor(o uint32) (list []uint32) {
	for _, w := range s.blocking.waits[o] {
		list = append(list, w.receiver)
	}
	return list
}

// storedLane and storedWait are the stored form of blocking.
type storedLane struct {
	Agent uint32
	Lane  uint8
	Runs  []storedRun
}

type storedRun struct {
	Wave uint64
	N    int64
}

type storedWait struct {
	Agent    uint32
	Receiver uint32
	Wave     uint64
}

func (b *blocking) store() (lanes []storedLane, waits []storedWait) {
	for _, o := range sortedKeys(b.unread) {
		for i := range b.unread[o] {
			if l := &b.unread[o][i]; l.total > 0 {
				lanes = append(lanes, l.store(o, i))
			}
		}
	}
	for _, o := range sortedKeys(b.waits) {
		for _, w := range b.waits[o] {
			waits = append(waits, storedWait{o, w.receiver, w.wave})
		}
	}
	return lanes, waits
}

func (l *lane) store(o uint32, place int) storedLane {
	stored := storedLane{Agent: o, Lane: uint8(place)}
	for _, r := range l.runs {
		stored.Runs = append(stored.Runs, storedRun{r.wave, int64(r.n)})
	}
	return stored
}

func sortedKeys[V any](m map[uint32]V) []uint32 {
	keys := make([]uint32, 0, len(m))
	for o := range m {
		keys = append(keys, o)
	}
	slices.Sort(keys)
	return keys
}

// restoreBlocking reads the stored form, which may be damaged or of another scene.
func (s *State) restoreBlocking(lanes []storedLane, waits []storedWait) error {
	for _, l := range lanes {
		if int(l.Agent) >= len(s.slots) || int(l.Lane) >= len(unread{}) {
			return protocol.Errorf(protocol.KindCorrupt, "agenda: snapshot: lane %d of agent %d of %d", l.Lane, l.Agent, len(s.slots))
		}
		s.restoreLane(l)
	}
	for _, w := range waits {
		if int(w.Agent) >= len(s.slots) || int(w.Receiver) >= len(s.slots) {
			return protocol.Errorf(protocol.KindCorrupt, "agenda: snapshot: agent %d waits for %d, of %d", w.Agent, w.Receiver, len(s.slots))
		}
		s.wait(w.Agent, w.Receiver, w.Wave)
	}
	return nil
}

func (s *State) restoreLane(stored storedLane) {
	if s.blocking.unread == nil {
		s.blocking.unread = map[uint32]*unread{}
	}
	u := s.blocking.unread[stored.Agent]
	if u == nil {
		u = &unread{}
		s.blocking.unread[stored.Agent] = u
	}
	l := &u[stored.Lane]
	for _, r := range stored.Runs {
		l.runs = append(l.runs, run{r.Wave, int(r.N)})
		l.total += int(r.N)
	}
}
