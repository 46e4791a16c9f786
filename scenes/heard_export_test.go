package scenes

import (
	"strconv"
	"strings"
	"sync"

	"tavernsim/protocol"
)

// Heard notes in which order agents are handed events.
type Heard struct {
	mu     sync.Mutex
	orders map[string][]int              // by agent, the numbers of the events' ids
	last   map[string]*protocol.Envelope // by agent
	urgent int                           // events behind less urgent ones of the same moment
}

// Listen stands in front of every agent.
func (h *Heard) Listen() func(*Options) {
	h.orders, h.last = map[string][]int{}, map[string]*protocol.Envelope{}
	return InFront(h.note)
}

// Orders are what was noted.
func (h *Heard) Orders() (orders map[string][]int, urgent int) { return h.orders, h.urgent }

func (h *Heard) note(who string, env *protocol.Envelope) {
	if env.Kind != protocol.KindEvent {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n, _ := strconv.Atoi(env.ID[strings.LastIndexByte(env.ID, 'e')+1:])
	h.orders[who] = append(h.orders[who], n)
	if last := h.last[who]; last != nil && last.Wave == env.Wave && last.Priority < env.Priority {
		h.urgent++
	}
	h.last[who] = env
}
