package machines

import (
	"tavernsim/engine/bus"
	"tavernsim/protocol"
	"tavernsim/scenes/setup"
)

// Publishing is one wave's turn of the channel.
type Publishing struct {
	State  *bus.State
	Routed []*bus.Routed // with receivers
	// Failed hears of filters that failed on an event; nil = nobody does.
	Failed func([]bus.FilterFailure)

	now   protocol.Time
	room  bus.Room
	facts []protocol.Fact // of the part at hand
}

// Publish begins it.
func Publish(sc *setup.Scene, state *bus.State, now protocol.Time) *Publishing {
	limits := sc.Simulation().Limits
	urgent := bus.Room{Events: limits.MaxEventsInWave, Deliveries: limits.MaxDeliveriesInWave}
	return &Publishing{State: state, now: now, room: bus.Room{Events: urgent.Events, Deliveries: urgent.Deliveries, Urgent: &urgent}}
}

// Decide releases what is due, then takes the requests in their order, and gives
// the facts of both, a part at a time, when it has folded them itself.
func (p *Publishing) Decide(in *RequestReader, give func(facts []protocol.Fact, more bool) error) error {
	for f := p.State.Release(p.now, &p.room); f != nil; f = p.State.Release(p.now, &p.room) {
		p.fold(f)
	}
	for {
		raws, err := in.Next(MaxChanges)
		if err != nil {
			return err
		}
		for _, raw := range raws {
			if err := p.take(raw); err != nil {
				return err
			}
		}
		facts, more := p.facts, in.Left > 0
		p.facts = nil
		if err := give(facts, more); err != nil || !more {
			return err
		}
	}
}

func (p *Publishing) take(raw protocol.Raw) error {
	req, err := bus.ReadRequest(raw)
	if err != nil {
		return err
	}
	v := p.State.Decide(p.now, req, &p.room)
	if p.Failed != nil && len(v.Failures) > 0 {
		p.Failed(v.Failures)
	}
	for _, f := range v.Facts {
		p.fold(f)
	}
	return nil
}

func (p *Publishing) fold(f protocol.Fact) {
	p.State.Apply(f)
	p.facts = append(p.facts, f)
	if r, ok := f.(*bus.Routed); ok && len(r.Receivers) > 0 {
		p.Routed = append(p.Routed, r)
	}
}
