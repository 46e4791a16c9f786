package schedule

// times is a heap of agents by their next turn, of which each can be moved.
type times struct {
	at    []Tick // of all agents; the index owns it
	heap  []uint32
	where []int32 // of all agents, shared by the heaps of all classes: place in the heap
}

func (h *times) less(a, b uint32) bool {
	return h.at[a] < h.at[b] || h.at[a] == h.at[b] && a < b
}

func (h *times) add(a uint32) {
	h.heap = append(h.heap, a)
	h.where[a] = int32(len(h.heap) - 1)
	h.up(len(h.heap) - 1)
}

// fix puts an agent in its place after its time has changed.
func (h *times) fix(a uint32) {
	i := int(h.where[a])
	if !h.down(i) {
		h.up(i)
	}
}

// remove takes an agent out.
func (h *times) remove(a uint32) {
	i, last := int(h.where[a]), len(h.heap)-1
	h.swap(i, last)
	h.heap = h.heap[:last]
	h.where[a] = -1
	if i < last && !h.down(i) {
		h.up(i)
	}
}

func (h *times) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.where[h.heap[i]], h.where[h.heap[j]] = int32(i), int32(j)
}

func (h *times) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !h.less(h.heap[i], h.heap[p]) {
			return
		}
		h.swap(i, p)
		i = p
	}
}

func (h *times) down(i int) (moved bool) {
	for {
		c := 2*i + 1
		if c >= len(h.heap) {
			return moved
		}
		if c+1 < len(h.heap) && h.less(h.heap[c+1], h.heap[c]) {
			c++
		}
		if !h.less(h.heap[c], h.heap[i]) {
			return moved
		}
		h.swap(i, c)
		i, moved = c, true
	}
}
