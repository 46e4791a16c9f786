package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/inflight"
	"tavernsim/scenes/machines/letters"
)

// Stage is the machine of the scene itself. It decides which agents deliberate next,
// merges their turns in a fixed order, sends the requests to the services in the
// order of [Services], and decides what is kept and when the scene pauses or ends.
//
// What is kept of it is its [StageState]. The rest is volatile: the open wave, and the
// inputs that the stage waits for. A kill forgets it, and a stage made of the state folded
// from the journal begins the wave anew.
type Stage struct {
	shared
	Waiting Waiting // orders from outside
	wave    *wave   // nil = none is open

	kept     Kept // the last durable wave
	gate     Gate // before each wave
	halt     halting
	ticked   bool     // the current input is a Tick
	places   []uint32 // of an ordinal: its place in the order of the open wave
	snapshot snapshotting
	noted    noting
	crashes  []protocol.Fact // of the scene before restarts, kept with the next wave
}

// shared is what the stage and its open wave work on.
type shared struct {
	*StageState
	config  StageConfig
	now     Moment          // of the current input
	effects []Effect        // of the current input
	warned  map[string]bool // of what there was a warning; see warnOnce
	phase   phase
	ready   string // a service that has something to decide; "" = none
	asking  asking
	letters letters.List // kept when the wave closes
	flight  deliberations
}

// StageConfig holds the settings of a run. Of all facts, only the end depends on it.
type StageConfig struct {
	Stop      agenda.Stop
	Snapshots SnapshotPolicy
	Orders    []*Order // from outside, each with its wave or time
	// Stepwise is for verify: a wave begins only with a Tick, or in realtime with
	// Arrivals, so that verify can give inputs from outside between two waves.
	Stepwise bool
	// Endless: nobody knows the stop conditions, as of the waves that a fork has of its parent.
	Endless bool
	// Gated: each wave waits until the gate says so; see [Gate].
	Gated bool
	// Raised: the budgets are others than those that refused something before.
	Raised bool
}

// phase is what the stage waits for.
type phase uint8

const (
	phaseNew      phase = iota // it has not begun: what comes waits
	phaseIdle                  // no wave is open
	phaseTurns                 // agents deliberate
	phasePack                  // agents that leave for other scenes give their states
	phaseService               // a service decides
	phaseKeeping               // the last wave before a stop becomes durable
	phaseSnapshot              // actors give their states
	phaseWriting               // the last snapshot is written before a stop
	phaseDone
)

// NewStage makes the stage of a folded state. kept is the last durable wave.
func NewStage(state *StageState, c StageConfig, kept Kept, view *View) *Stage {
	s := &Stage{
		shared:  shared{StageState: state, config: c, warned: map[string]bool{}, asking: newAsking(), flight: deliberations{Flight: inflight.New(state.scene.Simulation().Limits.MaxDeliberating)}},
		Waiting: c.Orders, places: make([]uint32, state.scene.Len()), kept: kept, gate: Gate{On: c.Gated}, halt: halting{paused: state.Agenda.Paused},
	}
	s.show(view, s.Agenda.Now)
	s.config.Snapshots = c.Snapshots.WithDefaults()
	s.snapshot.last = s.mark()
	if c.Stepwise && s.Agenda.Started { // nobody begins it once more
		s.phase = phaseIdle
	}
	return s
}

// show takes what the services publish at a time. The agenda hears of it when one of them
// decides next without a request.
func (s *shared) show(v *View, at protocol.Time) {
	if s.View = v; s.edition != nil {
		s.View = v.withEdition(s.edition)
	}
	if s.script != nil {
		shown, err := s.script.shown()
		if s.View = s.View.withScene(shown); err != nil {
			s.warnOnce(err.Error(), err)
		}
	}
	next := s.Agenda.Now // which has come
	if s.ready == "" {
		next = s.scheduled(v, max(next, at))
	}
	s.Agenda.Releases(next)
}

// Moment comes with every input. On the virtual clock no decision depends on it.
type Moment struct {
	Time   protocol.Time // of the scene on the realtime clock: that of the wall clock, or later if that was set back
	Alarms int           // turns with critical events that are on their way to the stage
}

// Decide takes an input and gives the effects in the order in which the shell carries
// them out. They are valid until the next call.
func (s *Stage) Decide(now Moment, in Input) ([]Effect, error) {
	clear(s.effects)
	s.now, s.effects = now, s.effects[:0]
	err := s.decide(in)
	return s.effects, err
}

func (s *Stage) decide(in Input) error {
	if s.phase == phaseDone {
		return nil
	}
	switch in := in.(type) {
	case *Begin:
		return s.begin(in)
	case *Arrivals:
		return s.openArrivals(in)
	case *TurnsEnded:
		return s.turnArrived(arrival{agent: in.Turns[0].Agent, span: in.Span, urgent: in.Urgent})
	case *ActorFailed:
		if o, ok := s.scene.Ordinal(in.Actor); ok {
			return s.turnArrived(arrival{agent: o, failure: in})
		}
		return s.serviceFailed(in)
	case *TurnStep:
		s.Spending.Step(in.Wave, &in.Step)
		s.grant(s.moment())
		return nil
	case *Waits:
		s.flight.Wait(in.Agent, in.Wave)
		return s.next()
	case *ServiceAnswered:
		return s.serviceAnswered(in)
	case *Ready:
		s.ready = in.Service
		s.show(s.View, s.Agenda.Now)
		return s.next()
	case *Kept:
		return s.waveKept(in)
	case *Control:
		return s.control(in)
	case *Order:
		s.Waiting.add(in)
		return s.next()
	case *Packed:
		return s.packed(in)
	case *Gate:
		s.gate = *in
		return s.next()
	case *Tick:
		s.ticked = true
		return s.next()
	case *StatesGiven:
		return s.statesGiven()
	case *SnapshotWritten:
		return s.snapshotWritten()
	case *DeadLetters:
		for _, f := range in.Letters {
			s.letters.Add(f)
		}
		return nil
	case *DiskFailed:
		// The durable waves are safe; the runner resumes the run when the disk works again.
		return s.fail(agenda.StoppedByInterrupt, in.Err)
	}
	return protocol.Errorf(protocol.KindInternal, "scene %s: unexpected input %T", s.scene.ID, in)
}

func (s *shared) effect(e Effect) { s.effects = append(s.effects, e) }

const maxWarnings = 1_000

// warnOnce warns of a condition that fails, once in a process for each key.
func (s *shared) warnOnce(key string, err error) {
	if !s.warned[key] && len(s.warned) < maxWarnings {
		s.warned[key] = true
		s.effect(Effect{Act: ActWarn, Err: err})
	}
}
