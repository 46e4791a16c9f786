package schedule

import (
	"slices"

	"tavernsim/protocol"
)

// State is the schedule of one scene. One goroutine uses it.
type State struct {
	cfg   Config
	touch table
	reach []extent // by class, of those who are perceived
	seen  []extent // by class, of those who perceive

	rows  []row
	index index
	times []times // by class
	where []int32 // in times
	tries times   // agents to be looked at by Next

	watch    watchers
	checks   []check
	root     uint32    // whose turn began the checks that are open
	deciding []bet     // that are decided when no check is open
	found    []laggard // by crowd
	learned  risks
	pace     []Pace // by class
	spent    waste
	tally    Tally
	serial   uint64 // of the last turn that began
}

// extent is the largest of what any class can do to a class.
type extent struct {
	near, speed int64
	others      []int // classes that touch it outside of space
}

type status uint8

const (
	idle    status = iota // its next turn is not begun
	running               // the driver has its turn
	asking                // its turn waits until its call may leave
	parked                // its turn waits for the committed run
)

// row is one agent. Its next time and its place are in the index.
type row struct {
	class   int32
	status  status
	why     Reason
	risk    float64 // while it is asking: of its call, when that was refused last
	from    Cell    // where it was before its last turn
	reached Tick    // the farthest that it was before it was set back
	turns   []turn  // ended, ahead of the committed run; oldest first
	run     turn    // that is running, or was begun last
	bets    bets    // of others on this agent
}

// turn is one turn of an agent.
type turn struct {
	at     Tick
	place  Cell // at its beginning
	serial uint64
	calls  int32
	risky  float32 // sum of the risks at which they were made, until that is settled
	open   int16   // bets on it that are not decided
	wrote  Resource
}

// Reason says why an agent does not run ahead.
type Reason uint8

// The reasons.
const (
	Free     Reason = iota // it may run
	ByWindow               // it is as far ahead as it may be
	BySpace                // somebody may come near
	ByWorld                // somebody may write what it perceives
	ByEvent                // somebody may publish what it hears
	ByBase                 // somebody may write a base that it consults
	ByRisk                 // a call would be wasted too likely
	ByDriver               // the driver parked it
	reasons
)

func (r Reason) String() string {
	return [...]string{"free", "window", "space", "world", "event", "base", "risk", "parked"}[r]
}

// New makes the schedule of a scene whose agents have not had a turn.
func New(cfg Config, agents []Agent) (*State, error) {
	if err := cfg.check(agents); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	t, err := compile(cfg.Classes)
	if err != nil {
		return nil, err
	}
	n := len(agents)
	s := &State{cfg: cfg, touch: t, rows: make([]row, n), index: newIndex(cfg, agents), where: make([]int32, n),
		times: make([]times, len(cfg.Classes)), watch: newWatchers(n), pace: make([]Pace, len(cfg.Classes)), learned: newRisks(len(cfg.Classes))}
	s.spent = newWaste(cfg)
	s.tries = times{at: s.index.at, where: make([]int32, n)}
	for k := range s.times {
		s.times[k] = times{at: s.index.at, where: s.where}
		s.reach, s.seen = append(s.reach, s.extentOf(k)), append(s.seen, s.seenBy(k))
	}
	for a, of := range agents {
		s.rows[a] = row{class: int32(of.Class), from: of.Place}
		s.tries.where[a] = -1
		s.times[of.Class].add(uint32(a))
		s.try(uint32(a))
	}
	return s, nil
}

func (s *State) extentOf(a int) (e extent) {
	for b, t := range s.touch[a] {
		if t.spatial {
			e.near, e.speed = max(e.near, t.near), max(e.speed, t.speed)
		}
		if t.through != 0 {
			e.others = append(e.others, b)
		}
	}
	return e
}

func (s *State) seenBy(b int) (e extent) {
	for a := range s.touch {
		if t := &s.touch[a][b]; t.spatial {
			e.near, e.speed = max(e.near, t.near), max(e.speed, t.speed)
		}
	}
	return e
}

// Turn is what Next hands out.
type Turn struct {
	Agent uint32
	At    Tick
	Place Cell
	// Ask is set when the turn has begun before, and the call that Ask refused may
	// leave now; the machine has counted it.
	Ask bool
}

// Next hands out the earliest turn that may begin, or go on with its call. The caller
// begins it, and later reports Ended or Park. While a check is open there is none.
func (s *State) Next() (Turn, bool) {
	for len(s.tries.heap) > 0 && len(s.checks) == 0 {
		a := s.tries.heap[0]
		s.tries.remove(a)
		r := &s.rows[a]
		switch {
		case r.status == idle && s.mayBegin(a):
			s.begin(a)
			return Turn{Agent: a, At: r.run.at, Place: r.run.place}, true
		case r.status == asking && s.mayAsk(a):
			r.status = running
			return Turn{Agent: a, At: r.run.at, Place: r.run.place, Ask: true}, true
		}
	}
	return Turn{}, false
}

// try makes Next look at an agent.
func (s *State) try(a uint32) {
	if s.tries.where[a] < 0 && s.index.at[a] != Never && s.rows[a].status != running && s.rows[a].status != parked {
		s.tries.add(a)
	}
}

func (s *State) mayBegin(a uint32) bool {
	r := &s.rows[a]
	if len(r.turns) >= s.cfg.Window {
		return s.waits(a, ByWindow)
	}
	if s.cfg.Mode == Speculative && s.crowd(a) {
		return true
	}
	b, why, until := s.blocker(a)
	if why == Free {
		return true
	}
	s.watch.only(a, b, until)
	return s.waits(a, why)
}

func (s *State) waits(a uint32, why Reason) bool {
	s.rows[a].why = why
	s.tally.Waits[why]++
	return false
}

func (s *State) begin(a uint32) {
	r := &s.rows[a]
	s.serial++
	s.tally.Turns++
	s.watch.none(a)
	r.status, r.why = running, Free
	r.run = turn{at: s.index.at[a], place: s.index.place[a], serial: s.serial}
	if s.cfg.Mode == Speculative {
		s.bet(a)
	}
}

// Ask says whether the running turn of an agent may make a paid call now. If not, the
// caller keeps the call back until Next hands the turn out with Ask, and forgets it
// when the turn is rolled back.
func (s *State) Ask(a uint32) (bool, error) {
	if err := s.expect(a, running, "asks"); err != nil {
		return false, err
	}
	if s.mayAsk(a) {
		return true, nil
	}
	s.rows[a].status = asking
	return false, nil
}

// End is how a turn ended.
type End struct {
	Next  Tick // of the agent's next turn; Never = it has none
	Place Cell
	Wrote Resource // what the turn changed outside of space
	// Stays is set for a committed turn of which the caller does not know yet what follows: the agent stays at Next,
	// the moment behind whose wave that is a fact, and waits for its next report. Whoever it may reach waits, too.
	Stays bool
}

// Ended reports the end of a running turn. Before anything else the caller takes what
// Check gives.
func (s *State) Ended(a uint32, e End) error {
	if err := s.expect(a, running, "ends a turn"); err != nil {
		return err
	}
	r := &s.rows[a]
	if e.Next <= r.run.at {
		return protocol.Errorf(protocol.KindInternal, "schedule: agent %d ends its turn of tick %d and has the next at %d, which is not later", a, r.run.at, e.Next)
	}
	s.pace[r.class].Learn(int(r.run.calls))
	r.run.wrote = e.Wrote
	r.turns = append(r.turns, r.run)
	r.status = idle
	s.advance(a, r.run, e)
	return nil
}

// advance moves an agent to its next turn, and finds who ran ahead and may have seen it.
func (s *State) advance(a uint32, t turn, e End) {
	r := &s.rows[a]
	old := s.index.place[a]
	s.root = a
	late := e.Next
	if late == Never {
		late = t.at + 1
	}
	r.from = old
	s.place(a, e.Next, late, e.Place)
	broke := s.breaks(r, t.at, old, e)
	if broke {
		s.tally.Violations++
	}
	s.decide(a, t.at)
	if t.at < r.reached || broke {
		s.findChecks(a, span{after: t.at, upTo: e.Next, from: old, to: e.Place, wrote: e.Wrote})
	}
	s.watch.fire(a, e.Next, s.try)
	s.try(a)
}

func (s *State) place(a uint32, at, late Tick, place Cell) {
	s.index.move(a, at, late, place)
	s.times[s.rows[a].class].fix(a)
	if s.tries.where[a] >= 0 {
		s.tries.fix(a)
	}
}

// breaks reports whether a turn did what its class does not declare.
func (s *State) breaks(r *row, at Tick, old Cell, e End) bool {
	p := s.cfg.Classes[r.class].Space
	if p == nil || e.Next == Never {
		return false
	}
	return apart(old, e.Place) > int64(p.Speed)*int64(e.Next-at)
}

// Committed reports a turn of the committed run, in its order: what it reports is
// fact. If the shadow had the same, its copy is not needed any more. If it had not
// come so far, or went another way, it goes on from the fact.
func (s *State) Committed(a uint32, at Tick, e End) error {
	r := &s.rows[a]
	if len(r.turns) > 0 && r.turns[0].at == at {
		if next, place := s.after(a); next == e.Next && place == e.Place {
			s.used(a)
			return nil
		}
	}
	if len(r.turns) == 0 && r.status != idle && r.run.at == at { // the committed run has its calls
		s.spent.safe(&r.run)
		s.drop(a)
	}
	return s.Missed(a, at, e)
}

// Missed is Committed for a turn that the driver knows to be another than that of the shadow, or
// that something befell the agent which its shadow did not know: what ran ahead of it is undone.
func (s *State) Missed(a uint32, at Tick, e End) error {
	if e.Next < at || e.Next == at && !e.Stays {
		return protocol.Errorf(protocol.KindInternal, "schedule: agent %d has a committed turn at tick %d and the next at %d, which is not later", a, at, e.Next)
	}
	if r := &s.rows[a]; len(r.turns) > 0 || r.status != idle {
		s.tally.Missed++
		s.root = a
		s.rollback(a, 0)
	}
	s.advance(a, turn{at: at, place: s.index.place[a]}, e)
	if e.Stays {
		s.rows[a].status, s.rows[a].run = parked, turn{at: e.Next}
		s.waits(a, ByDriver)
	}
	return nil
}

// drop forgets the turn that an agent has begun.
func (s *State) drop(a uint32) {
	s.watch.none(a)
	s.rows[a].run, s.rows[a].status = turn{}, idle
}

// after is what the oldest turn ahead led to.
func (s *State) after(a uint32) (Tick, Cell) {
	switch r := &s.rows[a]; {
	case len(r.turns) > 1:
		return r.turns[1].at, r.turns[1].place
	case r.status == idle:
		return s.index.at[a], s.index.place[a]
	default:
		return r.run.at, r.run.place
	}
}

// used drops the oldest turn ahead, which has become fact.
func (s *State) used(a uint32) {
	r := &s.rows[a]
	full := len(r.turns) >= s.cfg.Window
	s.spent.safe(&r.turns[0])
	s.tally.Used++
	r.turns = slices.Delete(r.turns, 0, 1)
	if full || r.status == asking && s.spent.allows(r.risk, len(r.turns)) { // it is less far ahead now
		s.try(a)
	}
}

// Touches reports whether turns of b may reach those of a, somewhere and some time.
func (s *State) Touches(a, b uint32) bool {
	t := &s.touch[s.rows[a].class][s.rows[b].class]
	return t.spatial || t.through != 0
}

// Park says that the running turn of an agent cannot go on ahead of the committed run;
// the agent waits for its Committed.
func (s *State) Park(a uint32) error {
	r := &s.rows[a]
	if r.status != running && r.status != asking {
		return s.expect(a, running, "is parked")
	}
	s.watch.none(a)
	r.status = parked
	s.waits(a, ByDriver)
	return nil
}

func (s *State) expect(a uint32, want status, what string) error {
	if int(a) >= len(s.rows) {
		return protocol.Errorf(protocol.KindInternal, "schedule: agent %d %s: there are %d", a, what, len(s.rows))
	}
	if s.rows[a].status != want {
		return protocol.Errorf(protocol.KindInternal, "schedule: agent %d %s and has no running turn", a, what)
	}
	return nil
}

// Shadow is where an agent is: the time of its next turn, how many turns it is ahead of the
// committed run, and why it does not run.
type Shadow struct {
	Next  Tick
	Ahead int
	Why   Reason
}

// Look shows an agent.
func (s *State) Look(a uint32) Shadow {
	r := &s.rows[a]
	return Shadow{s.index.at[a], len(r.turns), r.why}
}

// Tally counts what happened.
type Tally struct {
	Turns      int64 // begun
	Used       int64 // that became facts
	Missed     int64 // ended otherwise than the committed ones
	Rollbacks  int64 // times that an agent was set back
	Undone     int64 // turns that were undone by them
	Calls      int64 // paid calls
	Wasted     int64 // of which the turn was undone
	Violations int64 // turns that moved farther than their class
	Waits      [reasons]int64
}

// Tally shows the counts.
func (s *State) Tally() Tally { return s.tally }
