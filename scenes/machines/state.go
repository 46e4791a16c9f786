package machines

import (
	"time"

	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/setup"
)

// State is every machine of a scene. A live scene spreads it over its actors;
// a journal folds into it. Both apply the same facts in the same order.
type State struct {
	Director  *director.State
	World     *world.Document // of WorldState
	Knowledge knowledge.State
	Bus       *bus.State
	Agents    []*agent.Machine // by ordinal, the scene's own last; nil in a live scene
	Tally     Tally

	scene      *setup.Scene
	agents     AgentFold
	WorldState worldstate.State
}

// New is the scene before its first fact.
func New(sc *setup.Scene) (*State, error) {
	doc, err := world.FromValue(sc.Def.Definition.InitialWorldState, 1)
	if err != nil {
		return nil, sc.Errorf("initial_world_state: %w", err)
	}
	channel, err := bus.New(sc.Bus, sc.Subscribers)
	if err != nil {
		return nil, sc.Errorf("event channel: %w", err)
	}
	s := &State{
		Director: director.New(sc.DirectorConfig()), World: doc, WorldState: worldstate.NewState(doc), Knowledge: sc.Bases, Bus: channel,
		Tally: NewTally(), scene: sc, Agents: make([]*agent.Machine, len(sc.IDs)),
	}
	for o := range s.Agents {
		s.Agents[o] = sc.Machine(uint32(o))
	}
	s.agents = AgentFold{Scene: sc, Machine: func(o uint32) *agent.Machine { return s.Agents[o] }}
	return s, nil
}

// Apply folds one record of the journal.
func (s *State) Apply(r protocol.Record) error {
	fact, err := ReadFact(s.scene.Codec, r.Kind, r.Data)
	if err != nil {
		return err
	}
	if err := s.Tally.Count(s.scene, r.Actor, r.Kind, r.Data, fact); err != nil {
		return err
	}
	wave := s.Director.Wave + 1
	if err := s.applyScene(r, fact); err != nil {
		return err
	}
	return s.agents.Apply(wave, r, fact)
}

// applyScene folds what concerns the scene and its services.
func (s *State) applyScene(r protocol.Record, fact protocol.Fact) (err error) {
	switch x := fact.(type) {
	case *director.Started:
		s.Director.Start(r.Time)
	case *director.EffectsDeferred:
		s.Director.Defer(director.Deferred{Due: x.Due, Agent: x.Agent, Effects: x.Effects})
	case *director.Redelivered:
		s.Director.Redelivered(*x)
	case *director.AgentFailed:
		s.Director.AgentFailed(*x, r.Time)
	case *director.Interrupted:
		s.Director.Interrupted(*x, r.Time)
	case *director.Blocked:
		s.Director.Blocked(*x, s.Director.Wave+1)
	case *director.WaveClosed:
		s.Director.TakeDeferred(r.Time)
		s.Director.CloseWave(*x, r.Time)
	case *director.Paused:
		s.Director.Paused = true
	case *director.Resumed:
		s.Director.Paused = false
	case *director.Ended:
		s.Director.Ended = x.Reason
	case *agent.TurnEnded:
		s.ApplyTurn(x.Agent, x, r.Time)
	case *bus.Routed:
		s.ApplyRouted(x, s.Director.Wave+1)
		s.applyBus(x)
	case *bus.Refused, *bus.SubscriptionChanged, *bus.ThrottleChanged, *bus.NotDone:
		s.applyBus(x)
	case *world.Committed, *statecmd.Committed, *world.Leased, *world.Released:
		var w worldstate.State
		w, err = s.scene.Rules.Apply(s.WorldState, x)
		s.setWorld(w)
	default:
		s.Knowledge = knowledge.Apply(s.Knowledge, fact)
	}
	if by, wakes, ok := Concerns(fact); ok && wakes {
		if o, known := s.scene.Ordinal(by); known {
			s.Director.Told(o, s.Director.Wave+1, r.Time)
		}
	}
	return err
}

// applyBus lets the channel know a fact, unless it folds its own just now, and
// the agenda when the channel goes on.
func (s *State) applyBus(f protocol.Fact) {
	if s.Bus == nil {
		return
	}
	s.Bus.Apply(f)
	s.release()
}

// release lets the agenda know when the channel releases next what it holds.
func (s *State) release() {
	at, _ := s.Bus.NextDue()
	s.Director.Releases(at)
}

// ApplyTurn lets the agenda know that a turn ended.
func (s *State) ApplyTurn(o uint32, end *agent.TurnEnded, now protocol.Time) {
	s.Director.TurnEnded(o, TurnOf(end, now), now)
}

// TurnOf is what the agenda needs to know of a turn that ended.
func TurnOf(end *agent.TurnEnded, now protocol.Time) director.Turn {
	t := director.Turn{
		Wave: end.Wave, Failed: end.Outcome != agent.OutcomeOK && end.Outcome != agent.OutcomeInterrupted, Changed: end.Changed,
		SleepUntil: end.SleepUntil, Asleep: end.Asleep, WakeAbove: end.WakeAbove, WakeAt: end.WakeAt, Urgency: end.Urgency,
		Through: end.Through,
	}
	if end.Elapsed > 0 {
		t.BusyUntil = now.Add(end.Elapsed)
	}
	return t
}

// ApplyRouted puts the receivers of an event on the agenda.
func (s *State) ApplyRouted(f *bus.Routed, wave uint64) {
	for o := range f.Receivers.All() {
		p := PriorityFor(f, s.scene, o)
		s.Director.Heard(o, p, wave, f.Time)
		if s.scene.Blocks {
			s.Director.Received(o, p, wave)
		}
	}
}

// PriorityFor is the priority of an event for one receiver.
func PriorityFor(f *bus.Routed, sc *setup.Scene, o uint32) protocol.Priority {
	if len(f.Marks) == 0 {
		return f.Priority
	}
	return f.PriorityFor(sc.Name(o))
}

// ReadFact decodes any fact that a journal may hold.
func ReadFact(codec *protocol.Codec, kind string, data protocol.Raw) (protocol.Fact, error) {
	switch kind {
	case bus.FactRouted, bus.FactRefused, bus.FactSubscription, bus.FactThrottle, bus.FactNotDone:
		return bus.Decode(codec, kind, data)
	case knowledge.FactWritten, knowledge.FactSuggested, knowledge.FactReviewed, knowledge.FactRefused:
		return knowledge.DecodeFact(codec, kind, data)
	}
	if f, err := worldstate.ReadFact(kind, data); f != nil || err != nil {
		return f, err
	}
	if f, err := director.ReadFact(codec, kind, data); f != nil || err != nil {
		return f, err
	}
	if f, err := agent.ReadFact(codec, kind, data); f != nil || err != nil {
		return f, err
	}
	return nil, protocol.Errorf(protocol.KindUnknown, "a fact of kind %q: this version does not know it; use the version that wrote the run", kind)
}

// Size is the number of agents.
func (s *State) Size() int { return s.scene.Size() }

// Elapsed is the scene time since its start.
func (s *State) Elapsed() time.Duration {
	return s.Director.Now.Sub(s.Director.Begun())
}
