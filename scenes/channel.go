package scenes

import (
	"tavernsim/engine/bus"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/setup"
)

// channelService is the scene's channel of the IntelligentEventBus (§3.5).
type channelService struct {
	*scene
	state  *bus.State
	warned map[string]bool // filters that the log has named
}

// newChannelService goes on from a state and publishes it.
func (s *scene) newChannelService(state *bus.State) *channelService {
	c := &channelService{scene: s, state: state}
	c.publish()
	return c
}

// publish shows the scene what it needs to know between two waves.
func (s *channelService) publish() {
	due, _ := s.state.NextDue()
	s.channel.due.Store(int64(due))
	s.channel.hearsWorld.Store(s.state.HearsWorld())
}

// Receive implements actors.Behavior.
func (s *channelService) Receive(env *protocol.Envelope) error {
	if env.Kind == protocol.KindSnapshot {
		raw, err := s.state.Snapshot(s.Codec)
		if err != nil {
			return err
		}
		return s.giveState(env.Wave, setup.ActorEvents, raw)
	}
	in, err := machines.ReadRequests(env.Body.Raw)
	if err != nil {
		return err
	}
	p := machines.Publish(s.Scene, s.state, env.Time)
	p.Failed = s.failed
	return p.Decide(in, func(facts []protocol.Fact, more bool) error {
		if !more {
			s.deliver(env.Wave, p.Routed)
			s.publish()
		}
		return s.decided(setup.ActorEvents, facts, more)
	})
}

// maxFilters bounds the failing filters that the log names; all are counted.
const maxFilters = 20

// failed counts filters that failed, and says so the first time.
func (s *channelService) failed(list []bus.FilterFailure) {
	for _, f := range list {
		s.metrics.FilterFailed(f.Kind == protocol.KindLimit)
		if s.warned[f.Filter] || len(s.warned) == maxFilters {
			continue
		}
		if s.warned == nil {
			s.warned = map[string]bool{}
		}
		s.warned[f.Filter] = true
		s.log.Warn("a filter condition fails; where it fails it does not match", "scene", s.ID, "filter", f.Filter, "event", f.EventID, "err", f.Error)
	}
}

// deliver hands one shared envelope of each event to every receiver. It comes
// when all is decided, so that nothing can fail between two deliveries, and
// before the scene hears of the end: whoever is woken next has them.
func (s *channelService) deliver(wave uint64, routed []*bus.Routed) {
	for i, f := range routed {
		event := f.Event(s.ID).Envelope
		event.Wave, event.Place = wave, uint32(i)
		for o := range f.Receivers.All() {
			s.refs[o].Tell(event.At(machines.PriorityFor(f, s.Scene, o)))
		}
	}
}
