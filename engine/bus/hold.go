package bus

import (
	"bytes"
	"container/heap"
	"slices"

	"tavernsim/protocol"
)

// A hold is a set of receivers that wait for one release: at a moment (throttle,
// middleware), or when a subscription has been quiet. All its receivers wait for the
// same events. When an event arrives for some of them only, the hold is split.

// MaxHeldBytes bounds the bytes of all held events, encoded.
const MaxHeldBytes = 64 << 20

// heldOverhead estimates the bytes of a held event without its payload.
const heldOverhead = 256

type hold struct {
	number     uint64 // of all holds, from 1
	key        holdKey
	reason     Reason
	receivers  Ranges
	first, due protocol.Time
	count      uint32    // events that came
	events     []*Routed // the last event, or the last ones to merge
	place      int       // in the queue
}

// holdKey is the key under which later events join a hold; none join under the zero
// key.
type holdKey struct {
	sub  Subscription
	text string
}

func (h *Held) key() holdKey { return holdKey{sub: h.Subscription, text: h.Key} }

func (h *hold) size() int {
	n := heldOverhead * len(h.events)
	for _, e := range h.events {
		n += len(e.Body)
	}
	return n
}

// holds are all holds of the channel.
type holds struct {
	queue      dueQueue
	byNumber   map[uint64]*hold
	waiting    map[holdKey]map[uint32]*hold // by receiver
	last       uint64                       // number
	deliveries int
	bytes      int
	dues       []protocol.Time // of the next release for each agent, and 1; 0 = none. nil = to be looked up
}

// look makes dues.
func (hs *holds) look(subscribers int) {
	hs.dues = make([]protocol.Time, subscribers)
	for _, h := range hs.queue {
		for o := range h.receivers.All() {
			if at := &hs.dues[o]; *at == 0 || h.due < *at-1 {
				*at = h.due + 1
			}
		}
	}
}

func newHolds() holds {
	return holds{byNumber: map[uint64]*hold{}, waiting: map[holdKey]map[uint32]*hold{}}
}

// part is a set of receivers of one event and the hold that they join; nil = a new one.
type part struct {
	hold      *hold
	receivers Ranges
}

// parts splits receivers, in their order, by the hold that they wait for already.
func (hs *holds) parts(key holdKey, receivers Ranges) []part {
	waiting := hs.waiting[key]
	if len(waiting) == 0 || key == (holdKey{}) {
		return []part{{nil, receivers}}
	}
	if h := waiting[receivers[0].From]; h != nil && slices.Equal(h.receivers, receivers) {
		return []part{{h, receivers}}
	}
	var list []part
	at := map[*hold]int{}
	for o := range receivers.All() {
		h := waiting[o]
		i, known := at[h]
		if !known {
			i = len(list)
			at[h], list = i, append(list, part{hold: h})
		}
		list[i].receivers.Push(o)
	}
	return list
}

// taken is what holds take: deliveries, and bytes of events.
type taken struct{ deliveries, bytes int }

// more is what another held event takes.
func (hs *holds) more(h *Held, body int) (t taken) {
	for _, p := range hs.parts(h.key(), h.Receivers) {
		t.bytes += body + heldOverhead
		switch {
		case p.hold == nil:
			t.deliveries += p.receivers.Len()
		case len(p.receivers) != len(p.hold.receivers) || p.receivers.Len() != p.hold.receivers.Len():
			t.bytes += p.hold.size()
		}
	}
	return t
}

// fits reports whether a part of the current event can be held within the bounds, beside its
// other parts, and counts it if so.
func (r *routing) fits(h *Held, body int) bool {
	hs, more := &r.state.holds, r.state.holds.more(h, body)
	more.deliveries, more.bytes = more.deliveries+r.held.deliveries, more.bytes+r.held.bytes
	if hs.deliveries+more.deliveries > r.state.cfg.MaxHeld || hs.bytes+more.bytes > MaxHeldBytes {
		return false
	}
	r.held = more
	return true
}

// hold folds a held part of a fact.
func (hs *holds) hold(f *Routed, h *Held) {
	if len(h.Receivers) == 0 {
		return
	}
	e := f.kept()
	for _, p := range hs.parts(h.key(), h.Receivers) {
		t := p.hold
		switch {
		case t == nil:
			t = hs.add(&hold{key: h.key(), reason: h.Reason, receivers: p.receivers, first: f.Time, due: f.Time})
		case !slices.Equal(t.receivers, p.receivers):
			t = hs.split(t, p.receivers)
		}
		hs.take(t, h, e)
	}
}

// kept is the event without the results of its routing. It copies the bytes, so that
// the memory of the message can be released.
func (f *Routed) kept() *Routed {
	e := *f
	e.Body, e.Receivers, e.Marks, e.FilterErrors, e.Held, e.Released, e.Merged, e.event, e.priorities = bytes.Clone(f.Body), nil, nil, 0, nil, 0, 0, nil, nil
	return &e
}

func (hs *holds) add(h *hold) *hold {
	hs.last++
	h.number = hs.last
	hs.insert(h)
	return h
}

func (hs *holds) insert(h *hold) {
	hs.dues = nil
	hs.byNumber[h.number] = h
	heap.Push(&hs.queue, h)
	hs.deliveries += h.receivers.Len()
	hs.bytes += h.size()
	if h.key == (holdKey{}) {
		return
	}
	waiting := hs.waiting[h.key]
	if waiting == nil {
		waiting = make(map[uint32]*hold, h.receivers.Len())
		hs.waiting[h.key] = waiting
	}
	for o := range h.receivers.All() {
		waiting[o] = h
	}
}

// split takes receivers out of a hold into one of their own.
func (hs *holds) split(h *hold, receivers Ranges) *hold {
	rest := h.receivers.Minus(receivers)
	hs.deliveries -= receivers.Len()
	own := *h
	h.receivers, own.receivers, own.events = rest, receivers, slices.Clone(h.events)
	return hs.add(&own)
}

// take adds an event to a hold.
func (hs *holds) take(t *hold, h *Held, e *Routed) {
	hs.dues = nil
	hs.bytes -= t.size()
	if h.Subscription.Debounce != DebounceMerge {
		t.events = t.events[:0]
	} else if len(t.events) >= MaxMerged {
		t.events = slices.Delete(t.events, 0, len(t.events)-MaxMerged+1)
	}
	t.events = append(t.events, e)
	t.count++
	hs.bytes += t.size()
	t.due = h.Until
	if h.Subscription.Quiet > 0 {
		t.due = min(e.Time.Add(h.Subscription.Quiet), t.first.Add(h.Subscription.Most))
	}
	heap.Fix(&hs.queue, t.place)
}

// release removes a hold.
func (hs *holds) release(number uint64) {
	h := hs.byNumber[number]
	if h == nil {
		return // of another scene
	}
	hs.dues = nil
	delete(hs.byNumber, number)
	heap.Remove(&hs.queue, h.place)
	hs.deliveries -= h.receivers.Len()
	hs.bytes -= h.size()
	waiting := hs.waiting[h.key]
	for o := range h.receivers.All() {
		delete(waiting, o)
	}
	if len(waiting) == 0 {
		delete(hs.waiting, h.key)
	}
}

// dueQueue is a heap of holds by the moment of their release.
type dueQueue []*hold

func (q dueQueue) Len() int { return len(q) }
func (q dueQueue) Less(i, j int) bool {
	return q[i].due < q[j].due || q[i].due == q[j].due && q[i].number < q[j].number
}
func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}
func (q *dueQueue) Push(x any) {
	h := x.(*hold)
	h.place = len(*q)
	*q = append(*q, h)
}
func (q *dueQueue) Pop() any {
	last := len(*q) - 1
	h := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return h
}

// storedHold is the stored form of a hold.
type storedHold struct {
	Number       uint64
	Subscription Subscription
	Key          string
	Reason       Reason
	Receivers    Ranges
	First, Due   protocol.Time
	Count        uint32
	Events       []protocol.Raw
}

// store gives the holds in the order of their numbers.
func (hs *holds) store() (list []storedHold) {
	all := slices.SortedFunc(slices.Values(hs.queue), func(a, b *hold) int { return int(int64(a.number - b.number)) })
	for _, h := range all {
		s := storedHold{Number: h.number, Subscription: h.key.sub, Key: h.key.text, Reason: h.reason, Receivers: h.receivers,
			First: h.first, Due: h.due, Count: h.count}
		for _, e := range h.events {
			s.Events = append(s.Events, e.AppendMsg(nil))
		}
		list = append(list, s)
	}
	return list
}

func (hs *holds) restore(list []storedHold, last uint64, subscribers int) error {
	hs.last = last
	for i := range list {
		s := &list[i]
		h := &hold{number: s.Number, key: holdKey{s.Subscription, s.Key}, reason: s.Reason, receivers: s.Receivers,
			first: s.First, due: s.Due, count: s.Count}
		for _, raw := range s.Events {
			e, err := ReadRouted(raw)
			if err != nil {
				return err
			}
			h.events = append(h.events, e)
		}
		if len(h.events) == 0 || len(h.receivers) == 0 || h.receivers.Check() != nil || h.receivers.Beyond(subscribers) || hs.byNumber[h.number] != nil {
			return protocol.Errorf(protocol.KindCorrupt, "bus: restore: hold %d has no events or no receivers that are there", h.number)
		}
		hs.insert(h)
	}
	return nil
}
