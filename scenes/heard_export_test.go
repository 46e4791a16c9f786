package scenes

import (
	"strconv"
	"strings"
	"sync"

	"tavernsim/actors"
	"tavernsim/protocol"
)

// Heard notes in which order agents are handed events.
type Heard struct {
	mu     sync.Mutex
	orders map[string][]int // by agent, the numbers of the events' ids
	urgent int              // events behind less urgent ones of the same moment
}

// Listen stands in front of every agent.
func (h *Heard) Listen() func(*Options) {
	h.orders = map[string][]int{}
	return func(o *Options) {
		o.wrap = func(name string, b actors.Behavior) actors.Behavior { return &hearing{Behavior: b, who: name, all: h} }
	}
}

// Orders are what was noted.
func (h *Heard) Orders() (orders map[string][]int, urgent int) { return h.orders, h.urgent }

type hearing struct {
	actors.Behavior
	who  string
	all  *Heard
	last *protocol.Envelope
}

// Receive implements actors.Behavior.
func (h *hearing) Receive(env *protocol.Envelope) error {
	if env.Kind == protocol.KindEvent {
		h.all.note(h.who, env, h.last)
		h.last = env
	}
	return h.Behavior.Receive(env)
}

func (h *Heard) note(who string, env, last *protocol.Envelope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, _ := strconv.Atoi(env.ID[strings.LastIndexByte(env.ID, 'e')+1:])
	h.orders[who] = append(h.orders[who], n)
	if last != nil && last.Wave == env.Wave && last.Priority < env.Priority {
		h.urgent++
	}
}
