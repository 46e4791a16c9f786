package scenes

import (
	"tavernsim/engine/bus"
	"tavernsim/protocol"
)

// channelService is the scene's channel of the IntelligentEventBus (§3.5).
type channelService struct {
	*scene
	state *bus.State
}

// Receive implements actors.Behavior.
func (s *channelService) Receive(env *protocol.Envelope) error {
	if env.Kind == protocol.KindSnapshot {
		raw, err := s.state.Snapshot(s.codec)
		if err != nil {
			return err
		}
		return s.giveState(env.Wave, actorEvents, raw)
	}
	in, err := readRequests(env.Body.Raw)
	if err != nil {
		return err
	}
	p := s.publishing(env.Time)
	return p.decide(in, func(facts []protocol.Fact, more bool) error {
		if !more {
			p.deliver(env.Wave)
		}
		return p.answer(facts, more)
	})
}

// publishing is one wave's turn of the channel.
type publishing struct {
	*channelService
	now    protocol.Time
	room   bus.Room
	facts  []protocol.Fact // of the part at hand
	routed []*bus.Routed   // of all parts, with receivers
}

func (s *channelService) publishing(now protocol.Time) *publishing {
	limits := s.simulation().Limits
	urgent := bus.Room{Events: limits.MaxEventsInWave, Deliveries: limits.MaxDeliveriesInWave}
	return &publishing{channelService: s, now: now, room: bus.Room{Events: urgent.Events, Deliveries: urgent.Deliveries, Urgent: &urgent}}
}

// decide releases what is due, then takes the requests in their order, and gives
// the facts of both, a part at a time, when it has folded them itself.
func (p *publishing) decide(in *requestReader, give func(facts []protocol.Fact, more bool) error) error {
	for f := p.state.Release(p.now, &p.room); f != nil; f = p.state.Release(p.now, &p.room) {
		p.fold(f)
	}
	for {
		raws, err := in.next(maxChanges)
		if err != nil {
			return err
		}
		for _, raw := range raws {
			if err := p.take(raw); err != nil {
				return err
			}
		}
		facts, more := p.facts, in.left > 0
		p.facts = nil
		if err := give(facts, more); err != nil || !more {
			return err
		}
	}
}

func (p *publishing) take(raw protocol.Raw) error {
	req, err := bus.ReadRequest(raw)
	if err != nil {
		return err
	}
	v := p.state.Decide(p.now, req, &p.room)
	p.metrics.FilterFailures(len(v.Failures))
	for _, f := range v.Facts {
		p.fold(f)
	}
	return nil
}

func (p *publishing) fold(f protocol.Fact) {
	p.state.Apply(f)
	p.facts = append(p.facts, f)
	if r, ok := f.(*bus.Routed); ok && len(r.Receivers) > 0 {
		p.routed = append(p.routed, r)
	}
}

// hearsWorld stands in the channel's answer when somebody listens to the world.
const hearsWorld = 1

// answer tells the scene what was decided, when the channel wants to release
// something, and whether somebody listens to the world.
func (p *publishing) answer(facts []protocol.Fact, more bool) error {
	due, _ := p.state.NextDue()
	d := protocol.Decided{At: due, More: more}
	if p.state.HearsWorld() {
		d.Agent = hearsWorld
	}
	return p.handOver(protocol.KindDecided, actorEvents, d, facts, nil)
}

// deliver hands one shared envelope of each event to every receiver. It comes
// when all is decided, so that nothing can fail between two deliveries, and
// before the scene hears of the end: whoever is woken next has them.
func (p *publishing) deliver(wave uint64) {
	for _, f := range p.routed {
		event := f.Event(p.id).Envelope
		event.Wave = wave
		for o := range f.Receivers.All() {
			p.refs[o].Tell(receiverView(event, priorityFor(f, p.scene, o)))
		}
	}
}
