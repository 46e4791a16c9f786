package agenda

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tavernsim/engine/agenda/calendar"
	"tavernsim/engine/agenda/pause"
	"tavernsim/engine/bus"
	"tavernsim/protocol"
)

// Timing is when one agent is woken without any event.
type Timing struct {
	Period       time.Duration // of the floor frequency; 0 = none
	WakeOnStart  bool
	WakeOnChange bool // one tick after a deliberation that changed the agent
	MaxRestarts  int  // failures in a row before the agent is given up

	Least time.Duration // from the end of a turn to the next, whatever the agent hears; 0 = none

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
	Away           func(ordinal uint32) bool // it is not there when the scene begins; nil = all are
	Counts         bool                      // how many events wait for agents, also if all are there
}

// maxBackoffDoublings bounds the wait after repeated failures (backoff × 64).
const maxBackoffDoublings = 6

// slot is the state of one agent on the agenda.
type slot struct {
	due       protocol.Time // own schedule; 0 = none
	heard     protocol.Time // reaction to an event; 0 = none
	busyUntil protocol.Time
	queuedAt  protocol.Time // moment of its bucket; 0 = none
	heardWave uint64
	failures  uint32            // in a row, as many as max_restarts can allow
	priority  protocol.Priority // most urgent event heard
	wakeAbove protocol.Priority // asleep: events below this do not wake
	asleep    bool
	givenUp   bool
	blocked   bool  // it waits for receivers; State.blocking names them
	hurries   bool  // it is in State.urgent
	resting   bool  // it hears and is not woken
	gates     Gate  // it is not woken while one is closed
	held      uint8 // bits of hold.go
}

// Deferred are requests that become due later.
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

	slots    []slot
	came     []arrivals // by ordinal on the realtime clock; one on the virtual clock, which nobody reads
	agenda   calendar.Calendar
	urgent   calendar.Calendar //  realtime: the agents on the agenda that heard a critical event
	deferred []Deferred        // by due time, then arrival
	release  protocol.Time
	// thinking holds, for agents that may be interrupted, the urgency of the
	// deliberation whose simulated latency passes.
	thinking map[uint32]protocol.Priority
	blocking blocking
	pauses   pause.Rests
	unread   []uint32 // by ordinal: events since the last turn; nil = nobody asks
}

// New returns the state of a scene that has not started.
func New(cfg Config) *State {
	rows := 1
	if cfg.Clock == Realtime {
		rows = cfg.Agents
	}
	s := &State{cfg: cfg, Now: cfg.Start, came: make([]arrivals, rows), slots: make([]slot, cfg.Agents), agenda: calendar.New(), urgent: calendar.New()}
	s.seats()
	return s
}

// Begun is when the scene began.
func (s *State) Begun() protocol.Time { return s.began }

// Start begins the scene and puts every agent that wakes on start on the agenda.
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
func (s *State) grid(t protocol.Time) protocol.Time { return s.cfg.Grid(t) }

// Grid is the moment for time t: the next tick, on the virtual clock.
func (c *Config) Grid(t protocol.Time) protocol.Time {
	if c.Clock == Realtime || c.Tick <= 0 {
		return t
	}
	tick := protocol.Time(c.Tick)
	if over := (t - c.Start) % tick; over != 0 {
		t += tick - over
	}
	return t
}

// Grid is the moment for time t: the next tick, on the virtual clock.
func (s *State) Grid(t protocol.Time) protocol.Time { return s.grid(t) }

// NextTime is the next moment of the agenda; false = there is none.
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

// Releases sets when a service next decides without a request, as the event channel does
// about held events; 0 = none does. The snapshots of services store it.
func (s *State) Releases(at protocol.Time) { s.release = at }

// ReleaseDue reports whether such a decision is due.
func (s *State) ReleaseDue(now protocol.Time) bool { return s.release != 0 && s.release <= now }

// Urgency is the priority of the most urgent event that an agent has heard and not
// yet perceived.
func (s *State) Urgency(o uint32) protocol.Priority { return s.slots[o].priority }

// DeferredBy lists the deferred requests that are due by a time. The end of the wave
// that takes them drops them.
func (s *State) DeferredBy(t protocol.Time) []Deferred {
	n := 0
	for n < len(s.deferred) && s.deferred[n].Due <= t {
		n++
	}
	return s.deferred[:n]
}

// Turn is the end of a deliberation, for the agenda.
type Turn struct {
	Wave       uint64        // in which it was woken
	Changed    bool          // its private state or a goal
	BusyUntil  protocol.Time // simulated latency; 0 = none
	SleepUntil protocol.Time // 0 = no such time
	Asleep     bool          // with SleepUntil 0: until an event wakes it
	WakeAbove  protocol.Priority
	WakeAt     protocol.Time     // for events that are delivered again, or a deadline; 0 = none
	Urgency    protocol.Priority // of the most urgent event that it perceived
	Through    uint64            // number of the last event that it perceived
}

// TurnEnded applies the end of an agent's deliberation.
func (s *State) TurnEnded(o uint32, t Turn, now protocol.Time) {
	sl := &s.slots[o]
	sl.failures = 0
	sl.busyUntil = s.grid(t.BusyUntil)
	sl.asleep, sl.wakeAbove = t.Asleep || t.SleepUntil != 0, t.WakeAbove
	if !s.unperceived(o, t) {
		sl.heard, sl.priority = 0, protocol.Low
		sl.held &^= heldMissed
	} else if s.cfg.Clock == Realtime {
		s.leaves(o, t)
	}
	if sl.heardWave < t.Wave { // every event of earlier waves has reached it, or its mailbox refused it
		c := s.arrived(o)
		c.events, c.last = t.Through, [4]uint64{}
	}
	if s.unread != nil {
		s.unread[o] = s.missed(o, t)
	}
	sl.due = s.cfg.due(o, t, now)
	sl.rest()
	s.pauses.Begin(o, s.cfg.least(o, now))
	s.think(o, t)
	s.enqueue(o)
	s.took(o, t.Wave, now)
}

// Due is when an agent is woken after a deliberation, if nothing is heard until then; 0 =
// never. While its simulated latency passes it is not woken.
func (c *Config) Due(o uint32, t Turn, now protocol.Time) protocol.Time {
	due := c.due(o, t, now)
	if due == 0 {
		return 0
	}
	return max(due, c.Grid(t.BusyUntil), c.least(o, now))
}

// least is when the ceiling of an agent lets it have another turn; 0 = it has none.
func (c *Config) least(o uint32, now protocol.Time) protocol.Time {
	if pause := c.Timing(o).Least; pause > 0 {
		return c.Grid(now.Add(pause))
	}
	return 0
}

// Rests applies how an agent rests from the end of its turn, which follows.
func (s *State) Rests(o uint32, r pause.Rest) {
	r.Until = s.grid(r.Until)
	s.pauses.Say(o, r)
}

// Wakes reports whether an event of this type wakes an agent while it sleeps, whatever its priority.
func (s *State) Wakes(o uint32, kind string) bool { return s.pauses.Wakes(o, kind) }

func (c *Config) due(o uint32, t Turn, now protocol.Time) (due protocol.Time) {
	timing := c.Timing(o)
	switch period := timing.Period; {
	case t.SleepUntil != 0:
		due = c.Grid(t.SleepUntil)
	case t.Asleep || period <= 0:
	default:
		due = c.Grid(now.Add(period))
	}
	asleep := t.Asleep || t.SleepUntil != 0
	if at := c.Grid(now.Add(c.Tick)); t.Changed && timing.WakeOnChange && !asleep && (due == 0 || at < due) {
		due = at
	}
	if at := c.Grid(max(t.WakeAt, now.Add(c.reaction()))); t.WakeAt != 0 && (due == 0 || at < due) {
		due = at
	}
	return due
}

// think marks an agent that may be interrupted as busy.
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

// Interruption decides whether an event interrupts a busy agent on the virtual clock. It does not if it would not wake
// the agent: what that has begun goes on.
// It returns the fact to keep; false = there is none.
func (s *State) Interruption(o uint32, p protocol.Priority, event string, now protocol.Time) (Interrupted, bool) {
	urgency, busy := s.thinking[o]
	if !busy || s.slots[o].busyUntil <= now || p <= urgency || p < s.cfg.Timing(o).InterruptBy || !s.wakes(o, p) {
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

// cancels reports whether deferred requests can still be cancelled: those that are due
// now have joined the wave already.
func (s *State) cancels(o uint32, i int, now protocol.Time) bool {
	return s.deferred[i].Agent == o && s.deferred[i].Due > now
}

// without are the deferred requests without those of an agent that can be cancelled.
func (s *State) without(o uint32, now protocol.Time) []Deferred {
	left := make([]Deferred, 0, len(s.deferred))
	for i := range s.deferred {
		if !s.cancels(o, i, now) {
			left = append(left, s.deferred[i])
		}
	}
	return left
}

// Interrupted applies the fact that Interruption decided.
func (s *State) Interrupted(f Interrupted, now protocol.Time) {
	s.deferred = s.without(f.Agent, now)
	delete(s.thinking, f.Agent)
	sl := &s.slots[f.Agent]
	sl.busyUntil, sl.heard = 0, s.grid(now.Add(s.cfg.reaction()))
	if sl.due != 0 {
		sl.due = max(sl.due, sl.heard) // it became due while the latency passed
	}
	s.enqueue(f.Agent)
}

// Heard applies the delivery of an event to an agent in the given wave.
func (s *State) Heard(o uint32, p protocol.Priority, wave uint64, now protocol.Time) {
	s.number(o, p)
	s.hear(o, p, wave, now, false)
}

// Stirred is Heard for an event that wakes the agent also while it sleeps.
func (s *State) Stirred(o uint32, p protocol.Priority, wave uint64, now protocol.Time) {
	s.number(o, p)
	s.hear(o, p, wave, now, true)
}

// Told applies the answer of a service to an agent's request; always = it wakes the agent also
// while it sleeps.
func (s *State) Told(o uint32, wave uint64, now protocol.Time, always bool) {
	s.arrived(o).toldWave = wave
	s.hear(o, protocol.Normal, wave, now, always)
}

func (s *State) hear(o uint32, p protocol.Priority, wave uint64, now protocol.Time, always bool) {
	sl := &s.slots[o]
	if sl.heardWave < wave || p > sl.priority {
		sl.priority = max(p, sl.priority)
	}
	sl.heardWave = wave
	s.arrived(o).at = now
	if sl.asleep && p < sl.wakeAbove && !always || !sl.passes(p) {
		return
	}
	s.arrived(o).wokeWave = wave
	// On the realtime clock the last event counts, because a fold does not know
	// whether the agent has perceived the one before.
	if at := now.Add(s.cfg.reaction()); sl.heard == 0 || at < sl.heard || s.cfg.Clock == Realtime {
		sl.heard = s.grid(at)
	}
	s.enqueue(o)
}

// reaction is the time between an event and the wake of its receivers.
func (c *Config) reaction() time.Duration {
	if c.Clock == Realtime {
		return 0
	}
	return c.Tick
}

// Defer applies requests that wait for a simulated latency.
func (s *State) Defer(d Deferred) {
	d.Due = s.grid(d.Due)
	i, _ := slices.BinarySearchFunc(s.deferred, d.Due+1, func(e Deferred, at protocol.Time) int { return cmp.Compare(e.Due, at) })
	s.deferred = slices.Insert(s.deferred, i, d)
}

// Redelivery decides that letters are sent again at the next moment, after the wave
// that holds the fact.
func (s *State) Redelivery(letters []Letter) Redelivered {
	return Redelivered{Due: s.grid(s.Now.Add(max(s.cfg.reaction(), 1))), Letters: letters}
}

// Redelivered applies the fact that Redelivery decided: the letters become deferred
// requests of the scene's own agent, the last ordinal.
func (s *State) Redelivered(f Redelivered) {
	d := Deferred{Due: f.Due, Agent: uint32(len(s.slots) - 1)}
	for i := range f.Letters {
		d.Effects = append(d.Effects, protocol.Sequenced{To: bus.Service, Data: f.Letters[i].Draft})
	}
	s.Defer(d)
}

// Failure decides whether an agent whose actor failed is restarted, and when.
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
	sl.failures = uint32(min(f.Failures, math.MaxUint32))
	sl.heard, sl.priority, sl.asleep = 0, protocol.Low, false
	delete(s.thinking, f.Agent)
	if f.WakeAt == 0 {
		sl.givenUp, sl.due = true, 0
		return
	}
	sl.due, sl.busyUntil = f.WakeAt, f.WakeAt // events do not wake it before
	s.enqueue(f.Agent)
}

// GaveUp reports whether an agent was given up.
func (s *State) GaveUp(o uint32) bool { return s.slots[o].givenUp }

// CloseWave applies the end of a wave.
func (s *State) CloseWave(f WaveClosed, now protocol.Time) {
	s.Wave, s.Now = f.Wave, now
	s.deferred = slices.Delete(s.deferred, 0, len(s.DeferredBy(now)))
	s.NextWake() // drops invalid entries: a fold never calls Take
}
