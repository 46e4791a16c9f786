package agenda

import (
	"cmp"
	"container/heap"
	"slices"

	"tavernsim/protocol"
)

// agenda is a calendar: a bucket of ordinals per moment, and a heap of the moments.
// Entries are never removed from the middle; a reader must check whether an entry is
// still valid (stands).
type agenda struct {
	times   timeHeap
	buckets map[protocol.Time][]uint32
}

func newAgenda() agenda { return agenda{buckets: map[protocol.Time][]uint32{}} }

// add puts an agent on the agenda, unless the moment is beyond the last possible time.
func (a *agenda) add(t protocol.Time, o uint32) {
	if t > protocol.LastTime {
		return
	}
	b, ok := a.buckets[t]
	if !ok {
		heap.Push(&a.times, t)
	}
	a.buckets[t] = append(b, o)
}

// next finds the earliest moment with a valid entry, and drops the buckets before it.
func (a *agenda) next(stands func(protocol.Time, uint32) bool) (protocol.Time, bool) {
	for len(a.times) > 0 {
		t := a.times[0]
		bucket := a.buckets[t]
		for len(bucket) > 0 && !stands(t, bucket[0]) {
			bucket = bucket[1:]
		}
		if len(bucket) > 0 {
			a.buckets[t] = bucket
			return t, true
		}
		heap.Pop(&a.times)
		delete(a.buckets, t)
	}
	return 0, false
}

// pop removes the first entry of the moment that next found.
func (a *agenda) pop(t protocol.Time) uint32 {
	b := a.buckets[t]
	a.buckets[t] = b[1:]
	return b[0]
}

func (a *agenda) take(t protocol.Time) []uint32 {
	b, ok := a.buckets[t]
	if !ok || len(a.times) == 0 || a.times[0] != t {
		return nil
	}
	heap.Pop(&a.times)
	delete(a.buckets, t)
	return b
}

type timeHeap []protocol.Time

func (h timeHeap) Len() int           { return len(h) }
func (h timeHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h timeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timeHeap) Push(x any)        { *h = append(*h, x.(protocol.Time)) }
func (h *timeHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// NextWake is when the next agent is woken; false = no agent is due at any time.
func (s *State) NextWake() (protocol.Time, bool) {
	next, ok := s.agenda.next(s.stands)
	if t, hurries := s.urgent.next(s.standsFirst); hurries && (!ok || t < next) {
		return t, true
	}
	return next, ok
}

// Take removes and returns the agents that are woken at time t, in the order of the
// wave.
func (s *State) Take(t protocol.Time) []uint32 {
	var wave []uint32
	for _, o := range s.agenda.take(t) {
		if s.stands(t, o) {
			s.woken(o)
			wave = append(wave, o)
		}
	}
	slices.SortFunc(wave, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(s.slots[b].priority, s.slots[a].priority), cmp.Compare(a, b))
	})
	return wave
}

// TakeNext removes and returns the agent that is woken next on the realtime clock, of
// those that are due: first agents that heard a critical event, then the one that has
// waited longest. With urgent, it takes only the former. A busy agent leaves the
// agenda; its slot keeps what it heard, and the end of its turn puts it back.
func (s *State) TakeNext(now protocol.Time, urgent bool, busy func(ordinal uint32) bool) (o uint32, ok bool) {
	if o, ok = s.takeFrom(&s.urgent, s.standsFirst, now, busy); ok || urgent {
		return o, ok
	}
	return s.takeFrom(&s.agenda, s.stands, now, busy)
}

func (s *State) takeFrom(a *agenda, stands func(protocol.Time, uint32) bool, now protocol.Time, busy func(ordinal uint32) bool) (o uint32, ok bool) {
	for {
		t, due := a.next(stands)
		if !due || t > now {
			return 0, false
		}
		o = a.pop(t)
		if s.slots[o].queuedAt, s.slots[o].hurries = 0, false; !busy(o) {
			s.woken(o)
			return o, true
		}
	}
}

// woken clears an agent's reasons to be woken.
func (s *State) woken(o uint32) {
	sl := &s.slots[o]
	sl.queuedAt, sl.hurries, sl.due, sl.heard = 0, false, 0, 0
}

// stands reports whether an entry is still valid. The caller drops an invalid entry,
// so the slot is no longer queued.
func (s *State) stands(t protocol.Time, o uint32) bool {
	sl := &s.slots[o]
	if sl.queuedAt != t {
		return false
	}
	if at := sl.wake(); at == t || at != 0 && s.keepsPlace(sl, at) {
		return true
	}
	sl.queuedAt, sl.hurries = 0, false
	return false
}

// standsFirst is stands for the agenda of urgent agents.
func (s *State) standsFirst(t protocol.Time, o uint32) bool {
	return s.slots[o].hurries && s.stands(t, o)
}

// keepsPlace reports whether an entry is valid although the agent is due later: it
// has not been woken for an earlier event. Without this, each new event would move an
// agent behind others, and an agent that hears many might never be woken.
func (s *State) keepsPlace(sl *slot, at protocol.Time) bool {
	return s.cfg.Clock == Realtime && sl.queuedAt != 0 && sl.queuedAt < at && at <= sl.heard
}

// wake is when the agent is to be woken; 0 = never.
func (sl *slot) wake() protocol.Time {
	if sl.givenUp || sl.blocked || sl.resting || sl.gates != 0 {
		return 0
	}
	at := sl.due
	if sl.held&heldBack != 0 {
		at = 0
	}
	if sl.heard != 0 && (at == 0 || sl.heard < at) {
		at = sl.heard
	}
	if at != 0 && at < sl.busyUntil {
		at = sl.busyUntil
	}
	return at
}

func (s *State) enqueue(o uint32) {
	sl := &s.slots[o]
	at := sl.wake()
	hurries := s.cfg.Clock == Realtime && sl.priority == protocol.Critical
	switch {
	case at == 0:
		return
	case at != sl.queuedAt && !s.keepsPlace(sl, at):
		sl.queuedAt, sl.hurries = at, false
		s.agenda.add(at, o)
	}
	if hurries && !sl.hurries {
		sl.hurries = true
		s.urgent.add(sl.queuedAt, o)
	}
}
