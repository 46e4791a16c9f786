package scenes

import (
	"time"

	"tavernsim/protocol"
)

// maxReady bounds the agents that deliberate on the realtime clock without
// waiting for a model: those that have a worker, wait for one, or have ended and
// are not merged. So no more than that many, and those whose models answer
// meanwhile, can come between a critical event and who hears it, however the
// operating system shares the processors out.
const maxReady = 64

// urgentPatience is how long nobody else is woken for the sake of a deliberation
// that began with a critical event and uses a worker. One that takes longer is
// stuck, or no longer urgent.
const urgentPatience = 100 * time.Millisecond

// inFlight is who deliberates on the realtime clock, and who may begin.
type inFlight struct {
	agents map[uint32]deliberation
	limit  int // of all of them: max_deliberating
	ready  int // do not wait for a model

	urgent int           // of the ready: began with a critical event, with the last of them at since
	since  protocol.Time //
	press  uint32        // numbers the times that somebody was urgent
	owed   int           // others that may be woken although somebody is urgent
}

// deliberation is one in flight.
type deliberation struct {
	waits bool   // for a model
	press uint32 // 0 = it is not urgent
}

func newInFlight(limit int) inFlight {
	return inFlight{agents: map[uint32]deliberation{}, limit: limit, press: 1}
}

func (f *inFlight) has(o uint32) bool { _, ok := f.agents[o]; return ok }

// begin notes that an agent was woken.
func (f *inFlight) begin(o uint32, critical bool, now protocol.Time) {
	d := deliberation{}
	if f.ready++; critical {
		f.urgent++
		f.since, d.press = now, f.press
	} else if f.owed > 0 {
		f.owed--
	}
	f.agents[o] = d
}

// wait notes that a deliberation waits for a model, and needs its worker no more.
func (f *inFlight) wait(o uint32) {
	if d, ok := f.agents[o]; ok && !d.waits {
		f.rest(d)
		f.agents[o] = deliberation{waits: true}
	}
}

// end notes that a deliberation ended.
func (f *inFlight) end(o uint32) {
	if d, ok := f.agents[o]; ok {
		f.rest(d)
		delete(f.agents, o)
	}
}

func (f *inFlight) rest(d deliberation) {
	if d.waits {
		return
	}
	if f.ready--; d.press != f.press {
		return
	}
	f.owed++
	if f.urgent--; f.urgent == 0 {
		f.owed = 0
	}
}

// room reports whether an agent may be woken that heard nothing critical, when so
// many turns have ended that are not merged. Where somebody is urgent, one other
// may for each that was.
func (f *inFlight) room(arrived int, now protocol.Time) bool {
	if f.ready+arrived >= maxReady || len(f.agents) >= f.limit {
		return false
	}
	if f.urgent > 0 && now.Sub(f.since) >= urgentPatience {
		f.urgent, f.owed = 0, 0
		f.press++
	}
	return f.urgent == 0 || f.owed > 0
}
