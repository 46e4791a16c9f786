package director

import (
	"container/heap"

	"tavernsim/protocol"
)

// agenda is a calendar: a bucket of ordinals per moment, and a heap of the
// moments. Entries are never removed from the middle; who looks asks whether
// an entry still stands.
type agenda struct {
	times   timeHeap
	buckets map[protocol.Time][]uint32
}

func newAgenda() agenda { return agenda{buckets: map[protocol.Time][]uint32{}} }

func (a *agenda) add(t protocol.Time, o uint32) {
	b, ok := a.buckets[t]
	if !ok {
		heap.Push(&a.times, t)
	}
	a.buckets[t] = append(b, o)
}

// next finds the earliest moment with an entry that stands, and forgets the
// buckets before it.
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
