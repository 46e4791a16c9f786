package scenes

import (
	"maps"
	"time"

	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// worldService is the WorldStateService (agent architecture §3.6): the actor
// around the machine of package worldstate.
type worldService struct {
	*scene
	state worldstate.State
}

// newWorldService goes on from a state and publishes it.
func (s *scene) newWorldService(state worldstate.State) *worldService {
	w := &worldService{scene: s, state: state}
	w.publish()
	return w
}

// publish shows the newest world to readers, and the scene when it changes by
// itself next. It comes before the scene hears of the end of a wave.
func (s *worldService) publish() {
	s.world.Store(s.state.World())
	s.expiry.at.Store(int64(s.state.NextExpiry()))
	s.expiry.leases.Store(!s.state.Leases().Empty())
}

// Receive implements actors.Behavior.
func (s *worldService) Receive(env *protocol.Envelope) error {
	if env.Kind == protocol.KindSnapshot {
		raw, err := s.state.AppendSnapshot(nil)
		if err != nil {
			return err
		}
		return s.giveState(env.Wave, actorWorld, raw)
	}
	in, err := readRequests(env.Body.Raw)
	if err != nil {
		return err
	}
	began := time.Now()
	return s.decide(in, env.Time, func(facts []protocol.Fact, more bool) error {
		if !more {
			s.publish()
			s.metrics.WorldTook(time.Since(began))
		}
		return s.decided(actorWorld, facts, more)
	})
}

// decide gives the facts of all requests, a part at a time; without requests,
// those of time that has passed.
func (s *worldService) decide(in *requestReader, now protocol.Time, give func(facts []protocol.Fact, more bool) error) error {
	r := worldReader{in: in}
	for {
		requests, more, err := r.next(maxChanges)
		if err != nil {
			return err
		}
		d := s.rules.Decide(s.state, now, requests)
		s.state = d.Next
		if err := give(d.Facts, more); err != nil || !more {
			return err
		}
	}
}

// worldReader takes the requests of a wave in parts that break no transaction.
type worldReader struct {
	in   *requestReader
	held []worldstate.Request // read, and of the next part
}

// next gives about n requests; more tells whether others follow.
func (r *worldReader) next(n int) (part []worldstate.Request, more bool, err error) {
	raws, err := r.in.next(n - len(r.held))
	if err != nil {
		return nil, false, err
	}
	part = append(make([]worldstate.Request, 0, len(raws)+len(r.held)), r.held...)
	r.held = nil
	for {
		for _, raw := range raws {
			q, err := worldstate.ReadRequest(raw)
			if err != nil {
				return nil, false, err
			}
			part = append(part, q)
		}
		last := len(part) - 1
		if last < n-1 || r.in.left == 0 || part[last].Change.Group == "" {
			return part, r.in.left > 0, nil
		}
		if last > 0 && part[last-1].Change.Group != part[last].Change.Group && last >= n {
			r.held = part[last:]
			return part[:last], true, nil
		}
		if raws, err = r.in.next(1); err != nil {
			return nil, false, err
		}
	}
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
	return st.expiresBefore(st.expiring(), st.expiry.leases.Load() || st.hearsWorld, next, some)
}

func (s *scene) expiresBefore(at protocol.Time, someoneHears bool, next protocol.Time, some bool) (protocol.Time, bool) {
	switch {
	case at == 0:
		return 0, false
	case some:
		return at, at <= next
	}
	return at, someoneHears || s.untilProgram != nil
}

// Expires is what expiresFirst is to a live scene.
func (s *State) Expires(next protocol.Time, some bool) (protocol.Time, bool) {
	at := s.WorldState.NextExpiry()
	if at != 0 {
		at = max(s.Director.Grid(at), s.Director.Now)
	}
	return s.scene.expiresBefore(at, !s.WorldState.Leases().Empty() || s.Bus.HearsWorld(), next, some)
}

// expire opens a wave without turns, in which time passes for the world.
// Effects that are due by then come with it.
func (st *stage) expire(at protocol.Time) error {
	w := st.openWave(at)
	w.expires = true
	w.deferred = st.state.Director.TakeDeferred(at)
	return st.pump()
}

// setWorld keeps the document beside the state that holds it, for readers of a
// fold.
func (s *State) setWorld(w worldstate.State) { s.WorldState, s.World = w, w.World() }

// worldRules makes the machine of the scene's world.
func (b *builder) worldRules() (err error) {
	b.rules, err = worldstate.New(b.simulation().Limits.MaxWorldBytes, b.worldPermissions())
	return err
}

// worldPermissions is who may write where; nil = everybody everywhere.
func (b *builder) worldPermissions() *world.Permissions {
	if b.def.Permissions == nil {
		return nil
	}
	p := world.Permissions{Default: b.def.Permissions.Default, Profiles: maps.Clone(b.def.Permissions.Profiles)}
	p.Profiles[actorScene] = world.Rules{} // the scene itself may do everything
	return &p
}
