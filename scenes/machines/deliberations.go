package machines

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/inflight"
	"tavernsim/scenes/machines/span"
)

// arrival is turns that have ended, or a failure.
type arrival struct {
	agent   uint32 // the first
	span    *span.Span
	failure *ActorFailed
	urgent  bool // realtime: it goes before others
}

func (a *arrival) there() bool { return a.span != nil || a.failure != nil }

// places is how many places of the order it takes.
func (a *arrival) places() int {
	if a.span != nil {
		return len(a.span.Turns)
	}
	return 1
}

// deliberations are those of agents between their wakes and the waves that take them, and the actors that failed
// in them. On the virtual clock only failures wait for a wave.
type deliberations struct {
	inflight.Flight           // realtime: those that were begun and are not merged
	arrived, urgent []arrival // ended turns and failures that no wave has taken yet; urgent ones go before the others (realtime)

	broken       map[uint32]uint64 // agents whose actor failed, with the wave up to which they are restored
	unrestorable bool              // the state of some agent cannot be read from the journal
}

// any reports whether turns have ended that are not merged.
func (d *deliberations) any() bool { return len(d.arrived)+len(d.urgent) > 0 }

// arrive appends a turn to those that have ended. Turns that handled or publish a
// critical event go before all others. A failure stays behind the earlier turn of
// its agent.
func (d *deliberations) arrive(a arrival, heard protocol.Priority) {
	d.Arrive(a.agent)
	urgent := a.urgent || heard == protocol.Critical
	if a.failure != nil {
		urgent = slices.ContainsFunc(d.urgent, func(o arrival) bool { return o.agent == a.agent })
	}
	d.queue(a, urgent)
}

func (d *deliberations) queue(a arrival, urgent bool) {
	if urgent {
		d.urgent = append(d.urgent, a)
	} else {
		d.arrived = append(d.arrived, a)
	}
}

// sort moves turns to the front whose agents have heard a critical event since: such an
// agent is woken for the event after its turn is merged.
func (d *deliberations) sort(heard *agenda.State) {
	arrived := d.arrived
	d.arrived = nil
	for _, a := range arrived {
		d.queue(a, heard.Urgency(a.agent) == protocol.Critical)
	}
}

// maxArrived bounds the turns of a realtime wave, and so the turns that a critical
// event waits for before it is routed.
const maxArrived = 64

// take takes the turns of the next wave. On the realtime clock urgent turns
// have a wave of their own, so that they do not wait for the events of other turns.
func (d *deliberations) take(realtime bool) (taken []arrival, urgent bool) {
	if len(d.urgent) > 0 && !d.OthersTurn() || len(d.arrived) == 0 {
		taken = takeSome(&d.urgent, maxArrived)
		d.InARow += len(taken)
		return taken, len(taken) > 0
	}
	switch {
	case !realtime:
		taken = takeSome(&d.arrived, len(d.arrived))
	case len(d.urgent) > 0:
		taken = takeSome(&d.arrived, maxArrived/inflight.Share)
	default:
		taken = takeSome(&d.arrived, maxArrived)
	}
	d.InARow = max(0, min(d.InARow, inflight.Streak)-inflight.Share*len(taken))
	return taken, false
}

func takeSome(from *[]arrival, most int) []arrival {
	list := *from
	if len(list) <= most {
		*from = nil
		return list
	}
	*from = list[most:]
	return list[:most:most]
}

// abandon forgets an agent that is removed: nothing of its deliberation becomes a fact, as of one that is in flight
// when a scene ends, nor does a failure of its actor that no wave has taken yet: there is no actor to restart.
func (d *deliberations) abandon(o uint32) {
	of := func(a arrival) bool { return a.agent == o }
	d.arrived, d.urgent = slices.DeleteFunc(d.arrived, of), slices.DeleteFunc(d.urgent, of)
	delete(d.broken, o)
	d.End(o)
}

// restore notes an agent whose actor failed in a wave. One that is given up is restored as well, because it still gets
// events and gives its state to snapshots.
func (d *deliberations) restore(o uint32, wave uint64) {
	if d.broken == nil {
		d.broken = map[uint32]uint64{}
	}
	d.broken[o] = wave
}

// restorable takes the failed agents that can be restored from the journal: everything up to their failure is durable.
func (d *deliberations) restorable(durable uint64) (list []uint32) {
	for o, wave := range d.broken {
		if wave <= durable {
			delete(d.broken, o)
			list = append(list, o)
		}
	}
	slices.Sort(list)
	return list
}
