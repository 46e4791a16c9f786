package machines

import (
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/team"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/packed"
)

// Events is the scene's channel of the IntelligentEventBus (§3.5).
type Events struct {
	State *bus.State

	scene  *setup.Scene
	failed func([]bus.FilterFailure) // gets the filters that failed on an event; may be nil
	now    protocol.Time
	room   throttle.Room
	facts  []protocol.Fact // of the current part
	routed []*bus.Routed   // events of the last Decide that have receivers
}

func eventsKind() ServiceKind {
	return ServiceKind{
		Name: bus.Service, New: newEvents, Facts: bus.Facts, Middleware: true,
		Read: func(raw protocol.Raw) (any, error) { return bus.ReadRequest(raw) },
	}
}

func newEvents(sc *setup.Scene) (Service, error) {
	channel, err := bus.New(sc.Bus, sc)
	if err != nil {
		return nil, sc.Errorf("event channel: %w", err)
	}
	return &Events{State: channel, scene: sc}, nil
}

// Decide implements Service. It releases held events that are due, then decides about
// the requests.
func (e *Events) Decide(in *packed.Reader, now protocol.Time, give func(facts []protocol.Fact, more bool) error) error {
	limits := e.scene.Simulation().Limits
	urgent := throttle.Room{Events: limits.MaxEventsInWave, Deliveries: limits.MaxDeliveriesInWave}
	e.now, e.room, e.routed = now, throttle.Room{Events: urgent.Events, Deliveries: urgent.Deliveries, Urgent: &urgent}, nil
	e.State.Load = nil
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
	if load, ok := req.(team.Load); ok {
		e.State.Load = load
		return nil
	}
	v := e.State.Decide(e.now, req, &e.room)
	if e.failed != nil && len(v.Failures) > 0 {
		e.failed(v.Failures)
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
		e.routed = append(e.routed, r)
		if e.State.Load != nil {
			e.State.Load.Add(r.Receivers)
		}
	}
}

// Apply implements Service.
func (e *Events) Apply(f protocol.Fact) error {
	x, ok := f.(bus.Fact)
	if !ok {
		return unfolded(f)
	}
	e.State.Apply(x)
	return nil
}

// WatchFilters implements Filterer.
func (e *Events) WatchFilters(failed func([]bus.FilterFailure)) { e.failed = failed }

// Deliver implements Deliverer. The receivers of an event share one envelope.
func (e *Events) Deliver(wave uint64, tell func(uint32, *protocol.Envelope)) {
	for i, f := range e.routed {
		event := f.Event(e.scene.ID).Envelope
		event.Wave, event.Place = wave, uint32(i)
		for o := range f.Receivers.All() {
			tell(o, event.At(PriorityFor(f, e.scene, o)))
		}
	}
}

// Publish implements Service.
func (e *Events) Publish() Part {
	next, _ := e.State.NextDue()
	return Part{Shown: e.State.View(), Next: next}
}

// Snapshot implements Service.
func (e *Events) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	return e.State.Snapshot(codec)
}

// Load implements Service.
func (e *Events) Load(codec *protocol.Codec, raw protocol.Raw) (err error) {
	e.State, err = bus.Restore(e.scene.Bus, e.scene, codec, raw)
	return err
}
