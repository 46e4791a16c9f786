package actors

import (
	"tavernsim/protocol"
)

// Visitor runs idle actors on the worker of another actor, which handles an envelope: it gives them
// envelopes without a queue. It is good until that handler returns.
type Visitor struct {
	host  *mailbox
	count *taken // of its worker
}

// Visitor is that of an actor, which calls it in a handler of its own.
func (r *Ref) Visitor() Visitor {
	m := (*mailbox)(r)
	for _, w := range m.sup.system.depths.workers {
		if w.actor.Load() == m {
			return Visitor{m, w}
		}
	}
	return Visitor{}
}

// Visit lets an actor handle what waits for it, and then the envelope, as its last lane would give
// it; it reports whether the actor has handled the envelope, or failed at it. If not, the caller still
// has the envelope: another worker has the actor, or the actor is suspended, or aside, or gone, or it has too much to do.
func (v Visitor) Visit(r *Ref, env *protocol.Envelope) (handled bool) {
	m := (*mailbox)(r)
	if v.count == nil || m.sup.pause.on.Load() || !m.seize() {
		return false
	}
	given := v.count.given.Load()
	handled = m.run(v.count, env)
	v.count.begin(v.host)
	v.count.given.Store(given) // the host is in its Receive still
	if m.ends() {
		m.sup.system.pool.again(m)
	}
	return handled
}
