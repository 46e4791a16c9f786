package bus

import (
	"slices"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
	"tavernsim/protocol/grown"
)

// An agent that is not in the scene hears nothing: it is in no group, and an event that names it alone
// is refused. Its place, with the subscriptions of its definition, stays.

// Presence tells the channel that an agent came or left.
type Presence struct {
	Agent uint32
	Here  bool
}

// AppendMsg writes the request.
func (p *Presence) AppendMsg(b []byte) []byte {
	b = msgp.AppendInt(msgp.AppendArrayHeader(b, 3), numberHere)
	return msgp.AppendBool(msgp.AppendUint32(b, p.Agent), p.Here)
}

// Listener records that the channel counts an agent among its listeners from now on, or no
// more: then its subscriptions and what was held for it are gone.
type Listener struct {
	Agent   uint32
	Here    bool
	Dropped int64 // deliveries that were held for it
}

// LastAgent implements protocol.Naming.
func (f *Listener) LastAgent() uint32 { return f.Agent }

// peopled is the snapshot of a scene whose agents come and go.
type peopled struct {
	Rest snapshot
	Away Ranges
}

// seats sets which agents are away before the scene begins.
func (s *State) seats() {
	for o := uint32(0); s.comes(o); o++ {
		if s.cfg.Away(o) {
			s.away.Push(o)
		}
	}
}

// peopled reports whether agents come and go.
func (s *State) peopled() bool { return s.cfg.Away != nil }

// comes reports whether the agent may come and go.
func (s *State) comes(o uint32) bool { return s.peopled() && int(o) < s.subscribers.Len() }

// tidy removes the groups in which no agent is, so that a State is the same whether an agent
// left or never came.
func (s *State) tidy() error {
	var last []Subscription
	for o := uint32(0); s.comes(o); o++ {
		subscriptions := s.subscribers.Subscriptions(o)
		if same(subscriptions, last) {
			continue
		}
		last = subscriptions
		for _, sub := range last {
			if err := s.move(o, sub, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// move puts an agent into the group of a subscription, with in, or takes it out if it is away.
func (s *State) move(o uint32, sub Subscription, in bool) error {
	g, err := s.define(sub)
	if err != nil {
		return err
	}
	switch {
	case in || s.away.Contains(o):
		s.put(g, o, in)
	case len(g.members) == 0:
		s.drop(g)
	}
	return nil
}

func (r *routing) presence(p *Presence) {
	s := r.state
	if !s.comes(p.Agent) || p.Here != s.away.Contains(p.Agent) {
		return
	}
	f := &Listener{Agent: p.Agent, Here: p.Here}
	if !p.Here {
		f.Dropped = int64(len(s.holds.of(p.Agent)))
	}
	r.fact(f)
}

// listener folds that an agent came or left.
func (s *State) listener(f *Listener) {
	o := f.Agent
	if !s.comes(o) {
		return // the fact is of another scene
	}
	if f.Here {
		s.away = s.away.Without(o)
	} else {
		s.away = s.away.With(o)
		s.holds.forget(o)
		s.forget(o)
	}
	for _, sub := range s.subscribers.Subscriptions(o) {
		if err := s.move(o, sub, f.Here); err != nil {
			panic("bus: apply " + FactListener + ": " + err.Error()) // New has compiled it
		}
	}
}

// forget drops what an agent subscribed to, and unsubscribed from, at run time.
func (s *State) forget(o uint32) {
	added, removed := s.Changed(o)
	for _, sub := range added {
		s.subscribe(o, sub, false)
	}
	for _, sub := range removed {
		s.subscribe(o, sub, true)
	}
}

// of are the holds for an agent.
func (hs *holds) of(o uint32) []*hold {
	return slices.DeleteFunc(slices.Clone(hs.queue), func(h *hold) bool { return !h.receivers.Contains(o) })
}

// forget drops what is held for an agent.
func (hs *holds) forget(o uint32) {
	for _, h := range hs.of(o) {
		if h.receivers.Len() == 1 {
			hs.release(h.number)
			continue
		}
		h.receivers = h.receivers.Without(o)
		hs.dues = nil
		hs.deliveries--
		delete(hs.waiting[h.key], o)
	}
}

// stored reads a snapshot, and which agents are away in it.
func (s *State) stored(codec *protocol.Codec, raw protocol.Raw) (snap snapshot, err error) {
	if !s.peopled() {
		return snap, grown.Unmarshal(codec, raw, &snap)
	}
	p := peopled{}
	if err := grown.Unmarshal(codec, raw, &p); err != nil {
		return snap, err
	}
	if p.Away.Beyond(s.subscribers.Len()) || p.Away.Check() != nil {
		return snap, protocol.Errorf(protocol.KindCorrupt, "bus: restore: who is away is not in the scene, or out of order")
	}
	for o := range uint32(s.subscribers.Len()) {
		if here := !p.Away.Contains(o); here == s.away.Contains(o) {
			s.listener(&Listener{Agent: o, Here: here})
		}
	}
	return p.Rest, nil
}
