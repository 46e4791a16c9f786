package machines

import (
	"tavernsim/engine/bus"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// Events is the scene's channel of the IntelligentEventBus (§3.5).
type Events struct {
	State *bus.State
	// Routed are the events of the last Decide that have receivers.
	Routed []*bus.Routed
	// Failed gets the filters that failed on an event; may be nil.
	Failed func([]bus.FilterFailure)

	scene *setup.Scene
	now   protocol.Time
	room  bus.Room
	facts []protocol.Fact // of the current part
}

func newEvents(sc *setup.Scene) (Service, error) {
	channel, err := bus.New(sc.Bus, sc.Subscribers)
	if err != nil {
		return nil, sc.Errorf("event channel: %w", err)
	}
	return &Events{State: channel, scene: sc}, nil
}

// Decide implements Service. It releases held events that are due, then decides about
// the requests.
func (e *Events) Decide(in *RequestReader, now protocol.Time, give func(facts []protocol.Fact, more bool) error) error {
	limits := e.scene.Simulation().Limits
	urgent := bus.Room{Events: limits.MaxEventsInWave, Deliveries: limits.MaxDeliveriesInWave}
	e.now, e.room, e.Routed = now, bus.Room{Events: urgent.Events, Deliveries: urgent.Deliveries, Urgent: &urgent}, nil
	for f := e.State.Release(now, &e.room); f != nil; f = e.State.Release(now, &e.room) {
		e.fold(f)
	}
	for {
		raws, err := in.Next(MaxChanges)
		if err != nil {
			return err
		}
		for _, raw := range raws {
			if err := e.take(raw); err != nil {
				return err
			}
		}
		facts, more := e.facts, in.Left > 0
		e.facts = nil
		if err := give(facts, more); err != nil || !more {
			return err
		}
	}
}

func (e *Events) take(raw protocol.Raw) error {
	req, err := bus.ReadRequest(raw)
	if err != nil {
		return err
	}
	v := e.State.Decide(e.now, req, &e.room)
	if e.Failed != nil && len(v.Failures) > 0 {
		e.Failed(v.Failures)
	}
	for _, f := range v.Facts {
		e.fold(f)
	}
	return nil
}

func (e *Events) fold(f protocol.Fact) {
	e.State.Apply(f)
	e.facts = append(e.facts, f)
	if r, ok := f.(*bus.Routed); ok && len(r.Receivers) > 0 {
		e.Routed = append(e.Routed, r)
	}
}

// Apply implements Service.
func (e *Events) Apply(f protocol.Fact) error {
	if x, ok := f.(bus.Fact); ok {
		e.State.Apply(x)
	}
	return nil
}

// Publish implements Service.
func (e *Events) Publish(v *View) {
	v.Releases, _ = e.State.NextDue()
	v.HearsWorld = e.State.HearsWorld()
}

// Snapshot implements Service.
func (e *Events) Snapshot() (protocol.Raw, error) { return e.State.Snapshot(e.scene.Codec) }

// Load implements Service.
func (e *Events) Load(raw protocol.Raw) (err error) {
	e.State, err = bus.Restore(e.scene.Bus, e.scene.Subscribers, e.scene.Codec, raw)
	return err
}
