package scenes

import (
	"time"

	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/setup"
)

// worldService is the WorldStateService (agent architecture §3.6): the actor
// around the machine of package worldstate.
type worldService struct {
	*scene
	machines.World
}

// newWorldService goes on from a state and publishes it.
func (s *scene) newWorldService(state worldstate.State) *worldService {
	w := &worldService{s, machines.World{Rules: s.Rules, State: state}}
	w.publish()
	return w
}

// publish shows the newest world to readers, and the scene when it changes by
// itself next. It comes before the scene hears of the end of a wave.
func (s *worldService) publish() {
	s.world.Store(s.State.World())
	s.expiry.at.Store(int64(s.State.NextExpiry()))
	s.expiry.leases.Store(!s.State.Leases().Empty())
}

// Receive implements actors.Behavior.
func (s *worldService) Receive(env *protocol.Envelope) error {
	if env.Kind == protocol.KindSnapshot {
		raw, err := s.State.AppendSnapshot(nil)
		if err != nil {
			return err
		}
		return s.giveState(env.Wave, setup.ActorWorld, raw)
	}
	in, err := machines.ReadRequests(env.Body.Raw)
	if err != nil {
		return err
	}
	began := time.Now()
	return s.Decide(in, env.Time, func(facts []protocol.Fact, more bool) error {
		if !more {
			s.publish()
			s.metrics.WorldTook(time.Since(began))
		}
		return s.decided(setup.ActorWorld, facts, more)
	})
}

// expiring is when something in the world expires by itself next; 0 = never.
func (st *stage) expiring() protocol.Time {
	at := protocol.Time(st.expiry.at.Load())
	if at == 0 {
		return 0
	}
	return max(st.state.Director.Grid(at), st.state.Director.Now)
}

// expiresFirst reports whether the next moment is one at which something
// expires: next is the agenda's, some whether it has one. What expires without
// anybody left to hear of it does not keep a scene going. Of a lease its holder
// hears; of a value who subscribed to changes of the world, and the scene's own
// condition.
func (st *stage) expiresFirst(next protocol.Time, some bool) (protocol.Time, bool) {
	return machines.ExpiresBefore(st.Scene, st.expiring(), st.expiry.leases.Load() || st.channel.hearsWorld.Load(), next, some)
}

// expire opens a wave without turns, in which time passes for the world.
// Effects that are due by then come with it.
func (st *stage) expire(at protocol.Time) error {
	w := st.openWave(at)
	w.expires = true
	w.deferred = st.state.Director.TakeDeferred(at)
	return st.pump()
}
