package agenda

import (
	"cmp"
	"slices"
	"time"

	"tavernsim/protocol"
)

// Timing is when one agent is woken without any event.
type Timing struct {
	Period       time.Duration // floor frequency; 0 = only when something happens
	WakeOnStart  bool
	WakeOnChange bool // one tick after a deliberation that changed the agent
	MaxRestarts  int  // failures in a row before it is given up

	Interrupt   bool              // events interrupt its deliberations:
	InterruptBy protocol.Priority // those of this priority and above

	Blocks *Bounds // lanes of its inbox that block publishers; nil = none
}

// Config of a scene's State.
type Config struct {
	Start          protocol.Time
	Tick           time.Duration
	Clock          ClockKind
	Agents         int // ordinals 0..Agents-1
	Timing         func(ordinal uint32) Timing
	RestartBackoff time.Duration
}

// maxBackoffDoublings bounds the wait after repeated failures (backoff × 64).
const maxBackoffDoublings = 6

// slot is what the agenda knows of one agent.
type slot struct {
	due       protocol.Time // own schedule; 0 = none
	heard     protocol.Time // reaction to an event; 0 = none
	busyUntil protocol.Time
	queuedAt  protocol.Time // bucket it stands in; 0 = none
	heardWave uint64
	toldWave  uint64            // realtime: of the last thing it was told that is no event
	heardOf   uint64            // realtime: events routed to it, counted as its inbox numbers them
	last      [4]uint64         // realtime: of these, the last one of each priority, from the low one
	came      protocol.Time     // realtime: the last event or other news, whether it wakes or not
	wokeWave  uint64            // realtime: of the last one that does
	priority  protocol.Priority // most urgent event heard
	wakeAbove protocol.Priority // asleep: events below this do not wake
	asleep    bool
	givenUp   bool
	blocked   bool // it waits for receivers, who are in State.blocking
	hurries   bool // it stands in State.urgent
	failures  uint8
}

// Deferred is a set of effects that become due later.
type Deferred struct {
	Due     protocol.Time
	Agent   uint32
	Effects []protocol.Sequenced
}

// State is the scene's machine state.
type State struct {
	cfg Config

	Now     protocol.Time
	began   protocol.Time
	Wave    uint64
	Started bool
	Paused  bool
	Ended   string // reason; "" = it runs

	Deliberations int64
	Failed        int64 // deliberations that ended without a decision
	Restarts      int64
	GivenUp       int64

	slots    []slot
	agenda   agenda
	urgent   agenda     // realtime: of those on the agenda, who heard something critical
	deferred []Deferred // by due time, then arrival
	release  protocol.Time
	// thinking holds, of agents that may be interrupted, how urgent that is whose
	// latency they pass. The rest of it is in their slots.
	thinking map[uint32]protocol.Priority
	blocking blocking
}

// New returns the state before the scene started.
func New(cfg Config) *State {
	return &State{cfg: cfg, Now: cfg.Start, slots: make([]slot, cfg.Agents), agenda: newAgenda(), urgent: newAgenda()}
}

// Begun is when the scene began.
func (s *State) Begun() protocol.Time { return s.began }

// Start begins the scene: every agent that wants it is on the agenda.
func (s *State) Start(now protocol.Time) {
	s.Started, s.began, s.Now = true, now, now
	for o := range s.slots {
		t := s.cfg.Timing(uint32(o))
		switch {
		case t.WakeOnStart:
			s.slots[o].due = now
		case t.Period > 0:
			s.slots[o].due = s.grid(now.Add(t.Period))
		}
		s.enqueue(uint32(o))
	}
}

// grid rounds a time up to the next tick; realtime has no grid.
func (s *State) grid(t protocol.Time) protocol.Time {
	if s.cfg.Clock == Realtime || s.cfg.Tick <= 0 {
		return t
	}
	tick := protocol.Time(s.cfg.Tick)
	if over := (t - s.cfg.Start) % tick; over != 0 {
		t += tick - over
	}
	return t
}

// Grid is the moment at which something of time t happens.
func (s *State) Grid(t protocol.Time) protocol.Time { return s.grid(t) }

// NextTime is when something happens next; false = never again on its own.
func (s *State) NextTime() (protocol.Time, bool) {
	next, ok := s.NextWake()
	if len(s.deferred) > 0 && (!ok || s.deferred[0].Due < next) {
		next, ok = s.deferred[0].Due, true
	}
	if s.release != 0 && (!ok || s.grid(s.release) < next) {
		return s.grid(s.release), true
	}
	return next, ok
}

// DeferredDue reports whether effects are due at a time.
func (s *State) DeferredDue(t protocol.Time) bool {
	return len(s.deferred) > 0 && s.deferred[0].Due <= t
}

// Releases notes when the event channel releases next what it holds; 0 = it
// holds nothing. It follows from the channel's state and is stored with that.
func (s *State) Releases(at protocol.Time) { s.release = at }

// ReleaseDue reports whether the channel has something to release.
func (s *State) ReleaseDue(now protocol.Time) bool { return s.release != 0 && s.release <= now }

// Urgency is that of the most urgent event that an agent heard and has not acted
// on.
func (s *State) Urgency(o uint32) protocol.Priority { return s.slots[o].priority }

// DeferredBy are the effects that are due by a time. They are dropped when the wave
// that takes them is closed.
func (s *State) DeferredBy(t protocol.Time) []Deferred {
	n := 0
	for n < len(s.deferred) && s.deferred[n].Due <= t {
		n++
	}
	return s.deferred[:n]
}

// Turn is what the scene needs to know of a deliberation that ended.
type Turn struct {
	Wave       uint64        // in which it was woken
	Failed     bool          // it reached no decision
	Changed    bool          // its private state or a goal
	BusyUntil  protocol.Time // simulated latency; 0 = none
	SleepUntil protocol.Time // 0 = it does not sleep
	Asleep     bool          // with SleepUntil 0: until an event wakes it
	WakeAbove  protocol.Priority
	WakeAt     protocol.Time     // for events that it must be shown again, or a deadline; 0 = none
	Urgency    protocol.Priority // of what it perceived
	Through    uint64            // number of the last event that had reached it when it began
}

// TurnEnded applies the end of an agent's deliberation.
func (s *State) TurnEnded(o uint32, t Turn, now protocol.Time) {
	s.Deliberations++
	if t.Failed {
		s.Failed++
	}
	sl := &s.slots[o]
	sl.failures = 0
	sl.busyUntil = s.grid(t.BusyUntil)
	sl.asleep, sl.wakeAbove = t.Asleep || t.SleepUntil != 0, t.WakeAbove
	if !s.unperceived(sl, t) {
		sl.heard, sl.priority = 0, protocol.Low
	} else if s.cfg.Clock == Realtime {
		s.leaves(sl, t)
	}
	if sl.heardWave < t.Wave { // all that was routed to it reached it, or its mailbox refused it
		sl.heardOf, sl.last = t.Through, [4]uint64{}
	}
	switch period := s.cfg.Timing(o).Period; {
	case t.SleepUntil != 0:
		sl.due = s.grid(t.SleepUntil)
	case t.Asleep || period <= 0:
		sl.due = 0
	default:
		sl.due = s.grid(now.Add(period))
	}
	if at := s.grid(now.Add(s.cfg.Tick)); t.Changed && s.cfg.Timing(o).WakeOnChange && !sl.asleep && (sl.due == 0 || at < sl.due) {
		sl.due = at
	}
	if at := s.grid(max(t.WakeAt, now.Add(s.reaction()))); t.WakeAt != 0 && (sl.due == 0 || at < sl.due) {
		sl.due = at
	}
	s.think(o, t)
	s.enqueue(o)
	s.took(o, t.Wave, now)
}

// unperceived reports whether there may be something that a deliberation was not
// shown. On the virtual clock nothing comes while one is in flight. On the
// realtime clock events come between the wake and the beginning of a deliberation,
// which perceives them whatever their wave is: so they are counted. Answers are
// not; one of that time wakes the agent once more.
func (s *State) unperceived(sl *slot, t Turn) bool {
	if s.cfg.Clock != Realtime {
		return sl.heardWave >= t.Wave
	}
	return sl.heardWave >= t.Wave && sl.heardOf > t.Through || sl.toldWave >= t.Wave
}

// leaves says how urgent is what a deliberation was not shown. Who was asleep when
// it was woken was not put on the agenda for what came then.
func (s *State) leaves(sl *slot, t Turn) {
	sl.priority = sl.left(t)
	sl.hurries = sl.hurries && sl.priority == protocol.Critical
	if sl.wokeWave >= t.Wave {
		return
	}
	if sl.heard = 0; !sl.asleep || sl.priority >= sl.wakeAbove {
		sl.heard = sl.came
	}
}

// left is the priority of what a deliberation was not shown.
func (sl *slot) left(t Turn) protocol.Priority {
	p := protocol.Low
	if sl.toldWave >= t.Wave {
		p = protocol.Normal
	}
	for i, n := range sl.last {
		if n > t.Through {
			p = max(p, protocol.Low+protocol.Priority(i))
		}
	}
	return p
}

// think notes that an agent which may be interrupted is busy.
func (s *State) think(o uint32, t Turn) {
	if t.BusyUntil == 0 || !s.cfg.Timing(o).Interrupt {
		delete(s.thinking, o)
		return
	}
	if s.thinking == nil {
		s.thinking = map[uint32]protocol.Priority{}
	}
	s.thinking[o] = t.Urgency
}

// Interruption decides whether an event interrupts an agent that is busy on the
// virtual clock: the fact to keep, and whether there is one.
func (s *State) Interruption(o uint32, p protocol.Priority, event string, now protocol.Time) (Interrupted, bool) {
	urgency, busy := s.thinking[o]
	sl := &s.slots[o]
	if !busy || sl.busyUntil <= now || p <= urgency || p < s.cfg.Timing(o).InterruptBy || sl.asleep && p < sl.wakeAbove || sl.givenUp {
		return Interrupted{}, false
	}
	f := Interrupted{Agent: o, Event: event}
	for i := range s.deferred {
		if s.cancels(o, i, now) {
			f.Effects += int64(len(s.deferred[i].Effects))
		}
	}
	return f, true
}

// cancels: effects that are due now have joined the wave already.
func (s *State) cancels(o uint32, i int, now protocol.Time) bool {
	return s.deferred[i].Agent == o && s.deferred[i].Due > now
}

// Interrupted applies the fact that Interruption decided.
func (s *State) Interrupted(f Interrupted, now protocol.Time) {
	left := make([]Deferred, 0, len(s.deferred))
	for i := range s.deferred {
		if !s.cancels(f.Agent, i, now) {
			left = append(left, s.deferred[i])
		}
	}
	s.deferred = left
	delete(s.thinking, f.Agent)
	sl := &s.slots[f.Agent]
	sl.busyUntil, sl.heard = 0, s.grid(now.Add(s.reaction()))
	s.enqueue(f.Agent)
}

// Heard applies the delivery of an event to an agent in the given wave.
func (s *State) Heard(o uint32, p protocol.Priority, wave uint64, now protocol.Time) {
	sl := &s.slots[o]
	sl.heardOf++
	sl.last[place(p)] = sl.heardOf
	s.hear(o, p, wave, now)
}

// HeardSoFar sets how many events have reached an agent, and the number of the last
// one of each priority that waits there. It follows from the agent's state and is
// stored with that.
func (s *State) HeardSoFar(o uint32, n uint64, last func(protocol.Priority) uint64) {
	sl := &s.slots[o]
	sl.heardOf = n
	for _, p := range protocol.Priorities() {
		sl.last[place(p)] = last(p)
	}
}

// Told applies that an agent was told what became of something it asked for.
func (s *State) Told(o uint32, wave uint64, now protocol.Time) {
	s.slots[o].toldWave = wave
	s.hear(o, protocol.Normal, wave, now)
}

func (s *State) hear(o uint32, p protocol.Priority, wave uint64, now protocol.Time) {
	sl := &s.slots[o]
	if sl.heardWave < wave || p > sl.priority {
		sl.priority = max(p, sl.priority)
	}
	sl.heardWave, sl.came = wave, now
	if sl.asleep && p < sl.wakeAbove {
		return
	}
	sl.wokeWave = wave
	// On the realtime clock the last event counts: whether the one before has
	// been acted on already is not known to a fold.
	if at := now.Add(s.reaction()); sl.heard == 0 || at < sl.heard || s.cfg.Clock == Realtime {
		sl.heard = s.grid(at)
	}
	s.enqueue(o)
}

// reaction is how long it takes an event to wake its receivers.
func (s *State) reaction() time.Duration {
	if s.cfg.Clock == Realtime {
		return 0
	}
	return s.cfg.Tick
}

// Defer applies effects that wait for a simulated latency.
func (s *State) Defer(d Deferred) {
	d.Due = s.grid(d.Due)
	i, _ := slices.BinarySearchFunc(s.deferred, d.Due+1, func(e Deferred, at protocol.Time) int { return cmp.Compare(e.Due, at) })
	s.deferred = slices.Insert(s.deferred, i, d)
}

// Redelivery decides when letters are sent again: at the next moment. The wave
// that holds the fact must not take them itself.
func (s *State) Redelivery(letters []Letter) Redelivered {
	return Redelivered{Due: s.grid(s.Now.Add(max(s.reaction(), 1))), Letters: letters}
}

// Redelivered applies the fact that Redelivery decided: the letters are effects
// of the scene's own agent, which is the last one.
func (s *State) Redelivered(f Redelivered) {
	d := Deferred{Due: f.Due, Agent: uint32(len(s.slots) - 1)}
	for i := range f.Letters {
		d.Effects = append(d.Effects, protocol.Sequenced{To: protocol.ToEvents, Data: f.Letters[i].Draft})
	}
	s.Defer(d)
}

// Failure decides what becomes of an agent whose actor failed: the fact to keep.
func (s *State) Failure(o uint32, msg string, stack []string, now protocol.Time) AgentFailed {
	sl := &s.slots[o]
	n := int64(sl.failures) + 1
	f := AgentFailed{Agent: o, Error: msg, Stack: stack, Failures: n}
	if n <= int64(s.cfg.Timing(o).MaxRestarts) {
		wait := s.cfg.RestartBackoff << min(n-1, maxBackoffDoublings)
		f.WakeAt = s.grid(now.Add(max(wait, s.cfg.Tick)))
	}
	return f
}

// AgentFailed applies the fact that Failure decided.
func (s *State) AgentFailed(f AgentFailed, now protocol.Time) {
	s.failed(f)
	s.fell(f.Agent, now)
}

func (s *State) failed(f AgentFailed) {
	sl := &s.slots[f.Agent]
	s.Deliberations++
	s.Failed++
	sl.failures = uint8(min(f.Failures, 255))
	sl.heard, sl.priority, sl.asleep = 0, protocol.Low, false
	delete(s.thinking, f.Agent)
	if f.WakeAt == 0 {
		sl.givenUp, sl.due = true, 0
		s.GivenUp++
		return
	}
	s.Restarts++
	sl.due, sl.busyUntil = f.WakeAt, f.WakeAt // what it hears meanwhile waits, too
	s.enqueue(f.Agent)
}

// GaveUp reports whether an agent was given up.
func (s *State) GaveUp(o uint32) bool { return s.slots[o].givenUp }

// CloseWave applies the end of a wave.
func (s *State) CloseWave(f WaveClosed, now protocol.Time) {
	s.Wave, s.Now = f.Wave, now
	s.deferred = slices.Delete(s.deferred, 0, len(s.DeferredBy(now)))
	s.NextWake() // a fold takes nobody: what stands no more is dropped here
}
