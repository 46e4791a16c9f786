// Package calendar lists the due times of agents.
package calendar

import (
	"container/heap"

	"tavernsim/protocol"
)

// Calendar is a calendar: a bucket of ordinals per moment, and a heap of the moments.
// A reader must check whether an entry is still valid. Only Trim removes entries from the
// middle.
type Calendar struct {
	times   timeHeap
	buckets map[protocol.Time][]uint32
	entries int // of all buckets
}

// New makes an empty one.
func New() Calendar { return Calendar{buckets: map[protocol.Time][]uint32{}} }

// Add puts an agent on the agenda, unless the moment is beyond the last possible time.
func (a *Calendar) Add(t protocol.Time, o uint32) {
	if t > protocol.LastTime {
		return
	}
	b, ok := a.buckets[t]
	if !ok {
		heap.Push(&a.times, t)
	}
	a.buckets[t] = append(b, o)
	a.entries++
}

// Next finds the earliest moment with a valid entry, and drops the buckets before it.
func (a *Calendar) Next(stands func(protocol.Time, uint32) bool) (protocol.Time, bool) {
	for len(a.times) > 0 {
		t := a.times[0]
		bucket := a.buckets[t]
		for len(bucket) > 0 && !stands(t, bucket[0]) {
			bucket = bucket[1:]
			a.entries--
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

// Pop removes the first entry of the moment that Next found.
func (a *Calendar) Pop(t protocol.Time) uint32 {
	b := a.buckets[t]
	a.buckets[t] = b[1:]
	a.entries--
	return b[0]
}

// Take removes the entries of the earliest moment, if it is t.
func (a *Calendar) Take(t protocol.Time) []uint32 {
	b, ok := a.buckets[t]
	if !ok || len(a.times) == 0 || a.times[0] != t {
		return nil
	}
	heap.Pop(&a.times)
	delete(a.buckets, t)
	a.entries -= len(b)
	return b
}

// Entries counts the entries, valid or not.
func (a *Calendar) Entries() int { return a.entries }

// Trim leaves the entries that may still be valid, one of each agent.
func (a *Calendar) Trim(valid func(protocol.Time, uint32) bool) {
	seen, times := map[uint32]bool{}, a.times[:0]
	a.entries = 0
	for _, t := range a.times {
		var left []uint32
		for _, o := range a.buckets[t] {
			if valid(t, o) && !seen[o] {
				seen[o], left = true, append(left, o)
			}
		}
		if left == nil {
			delete(a.buckets, t)
			continue
		}
		a.buckets[t], times = left, append(times, t)
		a.entries += len(left)
	}
	a.times = times
	heap.Init(&a.times)
}

// Moments counts the moments that have an entry, valid or not.
func (a *Calendar) Moments() int { return len(a.times) }

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
