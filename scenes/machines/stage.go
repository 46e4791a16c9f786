package machines

import (
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agenda/pause"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/script"
	"tavernsim/engine/script/gates"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/inflight"
	"tavernsim/scenes/machines/letters"
	"tavernsim/scenes/machines/ordered"
	"tavernsim/scenes/machines/packed"
	"tavernsim/scenes/machines/roster"
	"tavernsim/scenes/machines/spending"
	"tavernsim/scenes/machines/tally"
)

// Stage is the machine of the scene itself. It decides which agents deliberate next,
// merges their turns in a fixed order, sends the requests to the services in the
// order of [Services], and decides what is kept and when the scene pauses or ends.
//
// Its kept state is Agenda, Tally, Roster, Ordered, Turns, Travel, Spending and script. Only [Stage.Apply] changes them, but that the
// stage takes an agent off the agenda when it wakes it; no snapshot is taken before
// that agent's turn has ended. The rest is
// volatile: the open wave, and the inputs that the stage waits for. A kill forgets
// it, and a stage folded from the journal begins the wave anew.
type Stage struct {
	Agenda   *agenda.State
	Tally    tally.Tally
	Roster   roster.Roster
	Ordered  ordered.List   // from outside
	Turns    *gates.Order   // nil = every agent that is due has a turn
	Travel   travel.State   // tickets from and to linked scenes
	Spending *spending.Book // nil = there are no budgets
	cast     *setup.Present // nil = nobody comes or goes
	View     *View          // of the services after their last decisions
	Waiting  Waiting        // volatile: orders from outside

	codec    *protocol.Codec
	scene    *setup.Scene
	services []ServiceKind
	requests []packed.Requests // of the open wave, by service
	config   StageConfig
	now      Moment   // of the current input
	effects  []Effect // of the current input

	phase   phase
	wave    *wave
	places  []uint32        // of an ordinal: its place in the order of the open wave
	flight  inflight.Flight // realtime: the deliberations that were begun and are not merged
	script  *scripting      // nil = there is none
	edition *edition        // kept; nil = plugins were not read again

	// arrived are the ended turns and failures that no wave has taken yet;
	// urgentArrived go before the others (realtime).
	arrived, urgentArrived []arrival

	// broken are the agents whose actor failed, with the wave up to which they are
	// restored.
	broken map[uint32]uint64
	// unrestorable: the state of some agent cannot be read from the journal.
	unrestorable bool
	kept         Kept // the last durable wave

	gate        Gate // before each wave
	stopping    stopping
	resting     protocol.Time // realtime: since when the stage waits for all deliberations to end; 0 = it does not wait
	paused      bool          // a pause has begun, and no resumption since
	pausing     bool          // asked for, not begun
	pausedBy    string        // reason of that pause
	resuming    bool
	ticked      bool // the current input is a Tick
	warned      bool // the stop condition cannot be evaluated, and a warning was given
	turnsWarned bool // the same of turns.by
	snapshot    snapshotting
	noted       noting
	bare        [2]uint64 // behind which wave the scene asked for vectors, and how many entries had none; 0 = its turn failed

	ready    string           // a service that has something to decide; "" = none
	failures map[string]int64 // of services, in a row
	early    []Effect         // requests of the open wave that a service has before the others
	broke    *ActorFailed     // of a service, while agents deliberate; nil = none did
	asked    Effect           // the requests to the service that decides now
	retry    bool             // that service failed, and decides again after it is restored
	parts    []protocol.KindData
	crashes  []protocol.Fact // of the scene before restarts, kept with the next wave
	letters  letters.List    // kept when the wave closes
}

// StageConfig holds the settings of a run. Of all facts, only the end depends on it.
type StageConfig struct {
	Stop      agenda.Stop
	Snapshots SnapshotPolicy
	Orders    []*Order // from outside, each with its wave or time
	// Stepwise is for verify: a wave begins only with a Tick, or in realtime with
	// Arrivals, so that verify can give inputs from outside between two waves.
	Stepwise bool
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

// NewStage makes a stage without facts.
func NewStage(sc *setup.Scene) *Stage {
	s := &Stage{Agenda: agenda.New(sc.AgendaConfig()), Tally: tally.NewTally(), Roster: make(roster.Roster, sc.Size()), Turns: newTurns(sc), View: &View{}, codec: NewCodec(), scene: sc, services: Services(), requests: make([]packed.Requests, len(Services())),
		Spending: spending.New(sc.Budgets, sc.Clock == agenda.Realtime)}
	s.cast = sc.Present(func() *agenda.State { return s.Agenda }, func() *travel.State { return &s.Travel })
	s.script = newScripting(sc, s.people())
	return s
}

// Configure prepares a folded stage for Decide. kept is the last durable wave.
func (s *Stage) Configure(c StageConfig, kept Kept, view *View) {
	s.config, s.kept, s.Waiting, s.gate.On = c, kept, c.Orders, c.Gated
	s.show(view)
	s.config.Snapshots = c.Snapshots.WithDefaults()
	s.places = make([]uint32, s.scene.Len())
	s.flight = inflight.New(s.scene.Simulation().Limits.MaxDeliberating)
	s.failures = map[string]int64{}
	s.snapshot.last = s.mark()
	if c.Stepwise && s.Agenda.Started { // nobody begins it once more
		s.phase = phaseIdle
	}
}

// show takes what the services publish. The agenda hears of it when one of them
// decides next without a request.
func (s *Stage) show(v *View) {
	if s.View = v; s.edition != nil {
		s.View = v.withEdition(s.edition)
	}
	if s.script != nil {
		s.View = s.View.withScene(s.sceneShown())
	}
	if s.ready != "" {
		s.Agenda.Releases(s.Agenda.Now) // which has come
		return
	}
	s.Agenda.Releases(s.scheduled(v))
}

// Moment comes with every input. On the virtual clock no decision depends on it.
type Moment struct {
	Wall   protocol.Time // the wall clock's time
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
		return s.actorFailed(in)
	case *TurnStep:
		s.Spending.Step(in.Wave, &in.Step)
		s.grant()
		return nil
	case *Waits:
		s.flight.Wait(in.Agent, in.Wave)
		return s.next()
	case *ServiceAnswered:
		return s.serviceAnswered(in)
	case *Ready:
		s.ready = in.Service
		s.show(s.View)
		return s.next()
	case *Kept:
		return s.waveKept(in)
	case *Control:
		return s.control(in)
	case *Order:
		return s.ordered(in)
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
		return s.diskFailed(in)
	}
	return protocol.Errorf(protocol.KindInternal, "scene %s: unexpected input %T", s.scene.ID, in)
}

// Apply folds one fact of the scene into the kept state. The live stage, a fold and
// verify all use it.
func (s *Stage) Apply(r protocol.Record, fact protocol.Fact) error {
	s.Tally.Count(s.scene, r.Actor, r.Kind, fact)
	s.Roster.Count(r, fact)
	d := s.Agenda
	s.Ordered.Count(d, r.Time, fact)
	switch x := fact.(type) {
	case *agenda.Started:
		d.Start(r.Time)
		s.seeded(x.Seed)
		s.Turns.Begin(d, x.Seed, r.Time)
	case *agenda.EffectsDeferred:
		d.Defer(agenda.Deferred{Due: x.Due, Agent: x.Agent, Effects: x.Effects})
	case *agenda.Redelivered:
		d.Redelivered(*x)
	case *agenda.AgentFailed:
		d.AgentFailed(*x, r.Time)
		s.Turns.Failed(x)
		if x.Agent == uint32(s.scene.OwnOrdinal()) {
			s.bare = [2]uint64{d.Wave + 1}
		}
	case *agenda.Interrupted:
		d.Interrupted(*x, r.Time)
		s.Turns.Interrupted(d, x.Agent, r.Time)
	case *agenda.Blocked:
		d.Blocked(*x, d.Wave+1)
	case *agenda.Rested:
		d.Rested(*x, r.Time)
	case *agenda.RestEnded:
		d.RestEnded(*x, r.Time)
	case *agenda.WaveClosed:
		d.CloseWave(*x, r.Time)
	case *agenda.Paused:
		d.Paused = true
		if s.Spending.Demands(budget.Pause) { // whoever asked for it; an end is still to come
			s.Spending.Heeded()
		}
	case *agenda.Resumed:
		d.Paused = false
	case *agenda.Ended:
		d.Ended = x.Reason
	case *agentfact.TurnEnded:
		t := turnOf(x, r.Time)
		d.TurnEnded(x.Agent, t, r.Time)
		if x.Outcome != agentfact.OutcomeAsked { // the turn is still to come
			s.Turns.Took(d, x.Agent, t, r.Time)
		}
		s.Spending.TurnEnded(r.Time, x)
	case *tooltask.Opened:
		s.Spending.TaskOpened(r.Time, x, s.scene.CostOf(x.Task.Tool))
	case *tooltask.TakenOver:
		s.rouse(x.Player.Agent, r.Time)
	case *tooltask.Ended:
		if x.Tool == tooltask.PlayTool {
			s.rouse(x.Agent, r.Time)
			break
		}
		s.Spending.TaskEnded(r.Time, x)
	case *agenda.TurnAbandoned:
		s.Spending.Abandoned(r.Time, x)
	case *agentfact.ModelAnswered:
		s.Spending.Answered(r.Actor, r.Time, x)
	case *agentfact.Rests:
		if o, ok := s.scene.Ordinal(r.Actor); ok {
			d.Rests(o, pause.Rest{Until: x.Until, Types: x.WakeTypes})
		}
	case *bus.Routed:
		s.heard(x, d.Wave+1)
	case *agenda.Forked:
		s.seeded(x.Seed)
		s.Turns.Forked(x.Seed)
	case script.Fact:
		if err := s.applyScript(x, r.Time); err != nil {
			return err
		}
	case turns.Fact:
		if err := s.Turns.Apply(d, x, r.Time); err != nil {
			return err
		}
	case *agenda.PluginsChanged:
		if err := s.reloaded(x); err != nil {
			return err
		}
	case *agenda.Spawned, *agenda.Removed:
		if err := s.moved(fact, r.Time); err != nil {
			return err
		}
	case travel.Fact:
		if err := s.travelled(x, r.Time); err != nil {
			return err
		}
	case *agenda.ActorFailed, *agenda.DeadLettered, *agenda.EffectsRefused, *agenda.Intervened, *agenda.OrderRefused, *agenda.ChangeRefused: // they change nothing
	case agenda.Fact:
		return protocol.Errorf(protocol.KindInternal, "a fact of kind %q: nothing folds it; give it a case in Stage.Apply", x.FactKind())
	}
	if by, wakes, ok := Concerns(fact); ok && wakes {
		if o, known := s.scene.Ordinal(by); known {
			d.Told(o, d.Wave+1, r.Time, false)
		}
	}
	return nil
}

// heard puts the receivers of an event on the agenda.
func (s *Stage) heard(f *bus.Routed, wave uint64) {
	for o := range f.Receivers.All() {
		p := PriorityFor(f, s.scene, o)
		if f.Type == bus.TypeWorldWatched || s.Agenda.Wakes(o, f.Type) {
			s.Agenda.Stirred(o, p, wave, f.Time)
		} else {
			s.Agenda.Heard(o, p, wave, f.Time)
		}
		if s.scene.Blocks {
			s.Agenda.Received(o, p, wave)
		}
		if s.cast != nil || s.scene.Grouped {
			s.Agenda.Reached(o)
		}
	}
}

// turnOf converts the end of a turn for the agenda.
func turnOf(end *agentfact.TurnEnded, now protocol.Time) agenda.Turn {
	t := agenda.Turn{
		Wave: end.Wave, Changed: end.Changed,
		SleepUntil: end.SleepUntil, Asleep: end.Asleep, WakeAbove: end.WakeAbove, WakeAt: end.WakeAt, Urgency: end.Urgency,
		Through: end.Through,
	}
	if end.Elapsed > 0 {
		t.BusyUntil = now.Add(end.Elapsed)
	}
	return t
}

// keep adds the effect that keeps an encoded fact of a service, and folds the fact. It returns nil
// for kinds that the stage does not decode.
func (s *Stage) keep(at protocol.Time, actor string, f protocol.KindData) (fact protocol.Fact, err error) {
	e := Effect{Act: ActKeep, Wave: s.wave.number, At: at, Actor: actor, Kind: f.Kind, Data: f.Data, Fact: f.Fact}
	if f.Fact == nil && !s.codec.FactType(f.Kind).Bytes {
		if e.Fact, err = s.codec.ReadFact(f.Kind, f.Data); err != nil {
			return nil, err
		}
	}
	s.effects = append(s.effects, e)
	return e.Fact, s.Apply(protocol.Record{Time: at, Actor: actor, Kind: f.Kind, Data: f.Data}, e.Fact)
}

// keepOwn keeps a fact of the stage itself.
func (s *Stage) keepOwn(f protocol.Fact) error {
	raw, err := s.codec.Marshal(f)
	if err != nil {
		return err
	}
	at := s.wave.time
	s.effects = append(s.effects, Effect{Act: ActKeep, Wave: s.wave.number, At: at, Actor: setup.ActorScene, Kind: f.FactKind(), Data: raw, Fact: f})
	return s.Apply(protocol.Record{Time: at, Actor: setup.ActorScene, Kind: f.FactKind(), Data: raw}, f)
}

func (s *Stage) effect(e Effect) { s.effects = append(s.effects, e) }

func (s *Stage) realtime() bool { return s.scene.Clock == agenda.Realtime }

func (s *Stage) errorf(format string, args ...any) error {
	return protocol.Errorf(protocol.KindInternal, "scene "+s.scene.ID+": "+format, args...)
}

// Size is the number of agents.
func (s *Stage) Size() int { return s.scene.Size() }

// Elapsed is the scene time since its start.
func (s *Stage) Elapsed() time.Duration { return s.Agenda.Now.Sub(s.Agenda.Begun()) }
