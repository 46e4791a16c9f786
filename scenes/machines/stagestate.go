package machines

import (
	"fmt"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agenda/pause"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/expr"
	"tavernsim/engine/order"
	"tavernsim/engine/script"
	"tavernsim/engine/script/gates"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/space"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/ordered"
	"tavernsim/scenes/machines/roster"
	"tavernsim/scenes/machines/spending"
	"tavernsim/scenes/machines/tally"
)

// StageState is the kept state of a stage, and what the services show of theirs: what the next
// wave follows from. Only [StageState.Apply] changes what is kept, but that the stage takes an
// agent off the agenda when it wakes it; no snapshot is taken before that agent's turn has ended.
type StageState struct {
	Agenda   *agenda.State
	Tally    tally.Tally
	Roster   roster.Roster
	Ordered  ordered.List   // from outside
	Turns    *gates.Order   // nil = every agent that is due has a turn
	Travel   travel.State   // tickets from and to linked scenes
	Spending *spending.Book // nil = there are no budgets
	View     *View          // of the services after their last decisions; empty in a fold
	Seed     *uint64        // in force, by the last start or fork; nil = an older snapshot does not know it

	codec   *protocol.Codec
	scene   *setup.Scene
	cast    *setup.Present // nil = nobody comes or goes
	script  *scripting     // nil = there is none
	edition *edition       // nil = plugins were not read again
	bare    [2]uint64      // behind which wave the scene asked for vectors, and how many entries had none; 0 = its turn failed
}

// NewStageState is that of a scene without facts.
func NewStageState(sc *setup.Scene) *StageState {
	s := &StageState{
		Agenda: agenda.New(sc.AgendaConfig()), Tally: tally.NewTally(), Roster: make(roster.Roster, sc.Size()), Turns: newTurns(sc),
		Spending: spending.New(sc.Budgets, sc.Clock == agenda.Realtime), View: &View{}, codec: NewCodec(), scene: sc,
	}
	s.cast = sc.Present(func() *agenda.State { return s.Agenda }, func() *travel.State { return &s.Travel })
	s.script = newScripting(sc, s.people())
	return s
}

// Apply folds one fact of the scene into the kept state. The live stage, a fold and
// verify all use it.
func (s *StageState) Apply(r protocol.Record, fact protocol.Fact) (err error) {
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
		if back, yes := s.GoesBack(r.Time); yes && !s.realtime() {
			return protocol.Errorf(protocol.KindCorrupt, "scene %s: %s", s.scene.ID, back)
		}
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
	case *agentfact.CallsCharged:
		s.Spending.CallsCharged(r.Time, x)
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
	case *tooltask.Uncharged:
		s.Spending.TaskUncharged(r.Time, x)
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
		err = s.applyScript(x, r.Time)
	case turns.Fact:
		err = s.Turns.Apply(d, x, r.Time)
	case *agenda.PluginsChanged:
		err = s.reloaded(x)
	case *agenda.Spawned, *agenda.Removed:
		err = s.moved(fact, r.Time)
	case travel.Fact:
		if err = s.Travel.Apply(x); err == nil {
			err = s.moved(fact, r.Time)
		}
	case *agenda.ActorFailed, *agenda.DeadLettered, *agenda.EffectsRefused, *agenda.Intervened, *agenda.OrderRefused, *agenda.ChangeRefused: // they change nothing
	case agenda.Fact:
		return protocol.Errorf(protocol.KindInternal, "a fact of kind %q: nothing folds it; give it a case in StageState.Apply", x.FactKind())
	}
	if by, wakes, ok := Concerns(fact); ok && wakes && err == nil {
		if o, known := s.scene.Ordinal(by); known {
			d.Told(o, d.Wave+1, r.Time, false)
		}
	}
	return err
}

// GoesBack reports whether the next wave would be earlier than the last one; told says it for people. No stage leaves such a
// history; an older one may have, on the realtime clock when the clock of its machine was set back.
func (s *StageState) GoesBack(at protocol.Time) (told string, yes bool) {
	if d := s.Agenda; d.Wave > 0 && at < d.Now {
		return fmt.Sprintf("the time of the scene goes back: wave %d is at %s, and the wave before it at %s", d.Wave+1, at, d.Now), true
	}
	return "", false
}

// heard puts the receivers of an event on the agenda.
func (s *StageState) heard(f *bus.Routed, wave uint64) {
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

// rouse has an agent take a turn that a person plays, or has played.
func (s *StageState) rouse(agent string, now protocol.Time) {
	if o, known := s.scene.Ordinal(agent); known {
		s.Agenda.Told(o, s.Agenda.Wave+1, now, true)
	}
}

// moved folds that an agent came or left, if a fact tells so.
func (s *StageState) moved(f protocol.Fact, at protocol.Time) error {
	p, moved := presenceOf(f)
	switch {
	case !moved:
		return nil
	case s.cast == nil:
		return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: the scene %s has no spawnable agents: the journal is of another project", f.FactKind(), s.scene.ID)
	case p.here:
		s.Agenda.Spawned(agenda.Spawned{Agent: p.agent}, at)
	default:
		if s.realtime() || s.Agenda.Standing(p.agent).Failures > 0 {
			s.Travel.CutShort(p.agent)
		}
		s.Agenda.Removed(agenda.Removed{Agent: p.agent}, at)
		s.cast.Left(p.agent)
	}
	if s.script != nil {
		s.script.machine.Recount()
	}
	return nil
}

// numbered says with which number the turns of an agent go on here that had so many.
func (s *StageState) numbered(o uint32, turns uint64) (all, elsewhere uint64) {
	here := uint64(0)
	if int(o) < len(s.Roster) {
		here = uint64(s.Roster[o].Turns)
	}
	all = max(turns, here+s.Travel.Elsewhere(o))
	return all, all - here
}

// admit finds the seat of an agent that arrives.
func (s *StageState) admit(l *travel.Letter) (uint32, error) {
	if s.cast == nil {
		return 0, s.scene.MayLeave()
	}
	o, err := s.scene.Admit(l, func(o uint32) bool { return s.Agenda.Away(o) && !s.Travel.Travels(o) })
	if err == nil {
		err = s.roomFor(o)
	}
	return o, err
}

// roomFor refuses an agent that arrives where there is no room for it. A letter has a wave of its
// own, so nobody else arrives at the same time.
func (s *StageState) roomFor(o uint32) error {
	q, is := order.Entrance(s.scene, o, &cast.Request{})
	if !is {
		return nil
	}
	return s.View.Space().Check([]space.Request{q})
}

// people are the agents of the scene that are there.
func (s *StageState) people() order.Setting {
	if s.cast != nil {
		return s.placed(s.cast)
	}
	return s.placed(s.scene)
}

func (s *StageState) placed(all order.Setting) order.Setting {
	if s.scene.Space == nil {
		return all
	}
	return placed{all, s}
}

// placed are agents that are somewhere: where the wave before left them.
type placed struct {
	order.Setting
	stage *StageState
}

// Members implements script.Cast.
func (p placed) Members(of cast.Selectors) (list []uint32) {
	if !of.ByPlace() {
		return p.Setting.Members(of)
	}
	at := p.stage.View.Space()
	for _, o := range p.Setting.Members(cast.All()) {
		m := p.stage.scene.Member(o)
		if x, y, ok := at.Where(o); ok {
			m.Place = at.Map().NameAt(x, y)
		}
		if of.Match(&m) {
			list = append(list, o)
		}
	}
	return list
}

// questions are the open tasks, as the last decision of their service left them.
func (s *StageState) questions() tooltask.State {
	state, _ := s.View.Shown(tooltask.Service).(tooltask.State)
	return state
}

func (s *StageState) realtime() bool { return s.scene.Clock == agenda.Realtime }

func (s *StageState) errorf(format string, args ...any) error {
	return protocol.Errorf(protocol.KindInternal, "scene "+s.scene.ID+": "+format, args...)
}

// Size is the number of agents.
func (s *StageState) Size() int { return s.scene.Size() }

// embeds reports whether the scene asks for vectors of entries before time goes on. It does not
// ask again right behind a wave that gave none: its own turn may have failed.
func (s *StageState) embeds(now protocol.Time) bool {
	wave, n := s.Agenda.Wave, uint64(s.View.wants(now))
	return n > 0 && s.bare != [2]uint64{wave, n} && s.bare != [2]uint64{wave} && !s.Agenda.GaveUp(uint32(s.scene.OwnOrdinal()))
}

// asksVectors notes behind which wave the scene asks for vectors, and of how many entries.
func (s *StageState) asksVectors(now protocol.Time) {
	s.bare = [2]uint64{s.Agenda.Wave + 1, uint64(s.View.wants(now))}
}

// expiring is when a value or lease of the world expires next; 0 = never.
func (s *StageState) expiring() protocol.Time {
	if at := s.View.WorldState().NextExpiry(); at != 0 {
		return max(s.Agenda.Grid(at), s.Agenda.Now)
	}
	return 0
}

// expiresFirst reports whether an expiry comes before the next moment of the agenda;
// some = the agenda has one. If it has none, an expiry keeps the scene running only
// if it is observed: by the holder of a lease, a subscription to changes of the
// world, or the stop condition.
func (s *StageState) expiresFirst(next protocol.Time, some bool) (protocol.Time, bool) {
	at := s.expiring()
	switch {
	case at == 0:
		return 0, false
	case some:
		return at, at <= next
	}
	return at, !s.View.WorldState().Leases().Empty() || s.View.hearsWorld() || s.scene.Condition != nil
}

// Roots are those of expressions about the scene between two waves.
func (s *StageState) Roots() expr.Env { return conditionRoots{s, s.Agenda.Now, s.Agenda.Wave} }

// conditionRoots are what conditions of the scene read, in a wave.
type conditionRoots struct {
	stage *StageState
	now   protocol.Time
	wave  uint64
}

// Lookup resolves the roots of the stop condition.
func (c conditionRoots) Lookup(root string) (any, bool) {
	s := c.stage
	switch root {
	case "world":
		return s.View.World().Value(), true
	case "scene":
		return map[string]any{
			"id": s.scene.ID, "time": c.now.String(), "elapsed_seconds": c.now.Sub(s.Agenda.Begun()).Seconds(),
			"waves": int64(c.wave), "deliberations": s.Tally.Deliberations, "events": s.Tally.EventsRouted,
		}, true
	case "round":
		if s.View.Turns != nil {
			return s.View.Turns.Value(), true
		}
	}
	return nil, false
}

// reaction is one tick after a time; on the realtime clock as soon as can be.
func (s *StageState) reaction(at protocol.Time) protocol.Time {
	wait := time.Duration(1)
	if !s.realtime() {
		wait = max(wait, s.scene.Simulation().Tick.Std())
	}
	return s.Agenda.Grid(at.Add(wait))
}

// scheduled is when something is to be decided without a request and without a turn: by a
// service, the script or the order of turns; 0 = never.
func (s *StageState) scheduled(v *View, now protocol.Time) (at protocol.Time) {
	for _, due := range [...]protocol.Time{v.releases(), s.ScriptDue(), s.Turns.Due(now)} {
		if due != 0 && (at == 0 || due < at) {
			at = due
		}
	}
	return at
}

// rulesNow are those of the state in which the script is, else the scene's.
func (s *StageState) rulesNow() *turns.Rules {
	if s.script == nil {
		return s.scene.Turns
	}
	return s.scene.TurnsIn(s.script.State.Current)
}

// newTurns is the order of a scene; nil = it has none.
func newTurns(sc *setup.Scene) *gates.Order {
	step := sc.Simulation().Tick.Std()
	if sc.Clock == agenda.Realtime {
		step = 0
	}
	return gates.New(sc.Turns, step)
}
