package world

import (
	"slices"
	"sync/atomic"
)

// chunkLen elements make a chunk; every chunk of a list but the last is full.
// A write copies one chunk (3 KB) and the table of chunks, 8 bytes per chunk:
// 62 KB for a list of a million.
const chunkLen = 128

type chunk struct {
	own   *owner
	slots []slot
}

// list is a JSON array: chunks of elements behind a table. Replacing an element
// and appending touch one chunk; anything that moves elements rebuilds the list.
type list struct {
	own    *owner
	chunks []*chunk
	n      int
	body   int   // encoded bytes of the elements, without the header
	born   int64 // version that wrote the list as a whole or moved its elements
	memo   atomic.Pointer[[]any]
}

func (l *list) size() int { return headerSize(l.n) + l.body }

func (l *list) at(i int) slot { return l.chunks[i/chunkLen].slots[i%chunkLen] }

func (l *list) owned(own *owner) *list {
	if l.own == own {
		if l.memo.Load() != nil {
			l.memo.Store(nil)
		}
		return l
	}
	c := &list{own: own, n: l.n, body: l.body, born: l.born}
	c.chunks = make([]*chunk, len(l.chunks), len(l.chunks)+1)
	copy(c.chunks, l.chunks)
	return c
}

// chunk returns chunk c of an owned list, copied unless it is owned too.
func (l *list) chunk(c int) *chunk {
	ch := l.chunks[c]
	if ch.own == l.own {
		return ch
	}
	room := min(len(ch.slots)+1+len(ch.slots)/4, chunkLen)
	ch = &chunk{own: l.own, slots: append(make([]slot, 0, room), ch.slots...)}
	l.chunks[c] = ch
	return ch
}

// put replaces element i of an owned list; delta is how much its encoded size
// grew.
func (l *list) put(i int, s slot, delta int) {
	l.chunk(i / chunkLen).slots[i%chunkLen] = s
	l.body += delta
}

// push appends to an owned list.
func (l *list) push(s slot) {
	l.body += sizeOf(s.val)
	c := l.n / chunkLen
	l.n++
	if c == len(l.chunks) {
		l.chunks = append(l.chunks, &chunk{own: l.own, slots: []slot{s}})
		return
	}
	ch := l.chunk(c)
	ch.slots = append(ch.slots, s)
}

// slots copies all elements out.
func (l *list) slots() []slot {
	all := make([]slot, 0, l.n)
	for _, c := range l.chunks {
		all = append(all, c.slots...)
	}
	return all
}

// newList builds a list from elements, which it takes over.
func newList(own *owner, all []slot, born int64) *list {
	l := &list{own: own, n: len(all), born: born}
	for part := range slices.Chunk(all, chunkLen) {
		l.chunks = append(l.chunks, &chunk{own: own, slots: part})
	}
	for i := range all {
		l.body += sizeOf(all[i].val)
	}
	return l
}

func (l *list) value() []any {
	if v := l.memo.Load(); v != nil {
		return *v
	}
	out := make([]any, 0, l.n)
	for _, c := range l.chunks {
		for i := range c.slots {
			out = append(out, valueOf(c.slots[i].val))
		}
	}
	l.memo.Store(&out)
	return out
}
