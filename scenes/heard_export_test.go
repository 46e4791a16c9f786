package scenes

import (
	"sync"

	"tavernsim/protocol"
)

// Heard notes in which order agents are handed events.
type Heard struct {
	mu     sync.Mutex
	orders map[string][]string           // by agent, the ids of the events
	last   map[string]*protocol.Envelope // by agent
	urgent int                           // events behind less urgent ones of the same moment
}

// Listen stands in front of every agent.
func (h *Heard) Listen() func(*Options) {
	h.orders, h.last = map[string][]string{}, map[string]*protocol.Envelope{}
	return InFront(h.note)
}

// Orders are what was noted.
func (h *Heard) Orders() (orders map[string][]string, urgent int) { return h.orders, h.urgent }

func (h *Heard) note(who string, env *protocol.Envelope) {
	if env.Kind != protocol.KindEvent {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.orders[who] = append(h.orders[who], env.ID)
	if last := h.last[who]; last != nil && last.Wave == env.Wave && last.Priority < env.Priority {
		h.urgent++
	}
	h.last[who] = env
}
