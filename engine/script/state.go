package script

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"tavernsim/engine/bus"
	"tavernsim/protocol"
	"tavernsim/protocol/grown"
)

// State is where a script stands. Only [State.Apply] changes it.
type State struct {
	Current string        // state; "" = the scene has not begun
	Entered protocol.Time // of it
	Changed uint64        // the last wave with a fact of the script
	Vars    map[string]any
	Fired   map[string]protocol.Time // by schedule: when it was carried out last
	Asked   map[string]*Collection   // by id; those that were opened
	Outcome *Outcome                 // nil = none yet
	Seed    uint64                   // of the run, which its facts name

	version uint64 // grows with every fact
}

// Collection is what came of one collection since it was opened last.
type Collection struct {
	ID      string
	State   string
	Opened  protocol.Time
	Due     protocol.Time // it is closed then; 0 = never
	Asked   bus.Ranges
	Answers []Answer // by ordinal
	Bytes   int64    // of the answers
	Why     string   // it was closed; "" = it is open
	Winner  string
}

// Answer is one that counts.
type Answer struct {
	Agent uint32
	Event string // id
	Value protocol.Raw
}

// Open reports whether answers count.
func (c *Collection) Open() bool { return c.Why == "" }

func (c *Collection) find(agent uint32) (int, bool) {
	if n := len(c.Answers); n == 0 || c.Answers[n-1].Agent < agent { // answers of one wave come by ordinal
		return n, false
	}
	return slices.BinarySearchFunc(c.Answers, agent, func(a Answer, o uint32) int { return cmp.Compare(a.Agent, o) })
}

// New is the state of a script that has not begun.
func New(p *Program) *State {
	return &State{Vars: maps.Clone(p.Variables), Fired: map[string]protocol.Time{}, Asked: map[string]*Collection{}}
}

// Version differs whenever the state does.
func (s *State) Version() uint64 { return s.version }

// clone is a copy that shares nothing which Apply changes.
func (s *State) clone() *State {
	c := *s
	c.Vars, c.Fired, c.Asked = maps.Clone(s.Vars), maps.Clone(s.Fired), make(map[string]*Collection, len(s.Asked))
	for id, k := range s.Asked {
		own := *k
		if own.Open() {
			own.Answers = slices.Clone(own.Answers)
		}
		c.Asked[id] = &own
	}
	return &c
}

// Apply folds a fact of the wave at a time.
func (s *State) Apply(f Fact, wave uint64, at protocol.Time) error {
	s.Changed = wave
	s.version++
	switch x := f.(type) {
	case *Entered:
		s.Current, s.Entered = x.State, at
	case *Set:
		v, err := x.Value.Value()
		if err != nil {
			return err
		}
		if s.Vars == nil {
			s.Vars = map[string]any{}
		}
		s.Vars[x.Variable] = v
	case *Fired:
		s.Fired[x.Schedule] = at
	case *Opened:
		s.Asked[x.Collection] = &Collection{ID: x.Collection, State: x.State, Opened: at, Due: x.Due, Asked: x.Asked}
	case *Answered:
		return s.answered(x)
	case *Closed:
		if c := s.Asked[x.Collection]; c != nil {
			c.Why, c.Winner = x.Why, x.Winner
		}
	case *Outcome:
		s.Outcome = x
	case *Failed, *Refused: // they change nothing
	}
	return nil
}

func (s *State) answered(x *Answered) error {
	c := s.Asked[x.Collection]
	if c == nil {
		return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: the collection %q was not opened", FactAnswered, x.Collection)
	}
	i, twice := c.find(x.Agent)
	if twice {
		return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: agent %d answered %q before", FactAnswered, x.Agent, x.Collection)
	}
	c.Answers = slices.Insert(c.Answers, i, Answer{Agent: x.Agent, Event: x.Event, Value: x.Value})
	c.Bytes += int64(len(x.Value))
	return nil
}

// Next is when the script has something to do although nothing happens; 0 = never. A change
// of the script is looked at again a tick after the last wave, because transitions may hold
// by then. Times are not on the grid.
func (m *Machine) Next(s *State, began, now protocol.Time, wave uint64, tick time.Duration) protocol.Time {
	if s.Current == "" || s.Outcome != nil && s.Outcome.Ends {
		return 0
	}
	next := m.later(s, began, now)
	if again := now.Add(max(tick, 1)); s.Changed == wave && (next == 0 || again < next) {
		next = again
	}
	return next
}

// later is Next without the look after a change. It is computed once for each change.
func (m *Machine) later(s *State, began, now protocol.Time) protocol.Time {
	if m.next.of == s && m.next.version == s.version && (m.next.at == 0 || m.next.at > now) {
		return m.next.at
	}
	next := protocol.Time(0)
	first := func(at protocol.Time) {
		if at > now && (next == 0 || at < next) {
			next = at
		}
	}
	if n := m.States[s.Current]; n != nil {
		for _, t := range n.transitions {
			if t.after > 0 {
				first(s.Entered.Add(t.after))
			}
		}
	}
	for _, c := range s.Asked {
		if c.Open() {
			first(c.Due)
		}
	}
	for _, d := range m.schedules {
		first(d.due(s, began))
	}
	m.next.of, m.next.version, m.next.at = s, s.version, next
	return next
}

// due is the first moment of a schedule that has not come or was missed; 0 = none.
func (d *schedule) due(s *State, began protocol.Time) protocol.Time {
	base := began
	if len(d.in) > 0 {
		if _, in := slices.BinarySearch(d.in, s.Current); !in {
			return 0
		}
		base = max(base, s.Entered)
	}
	fired := s.Fired[d.id]
	base = max(base, fired)
	switch {
	case d.every > 0:
		return began.Add((base.Sub(began)/d.every + 1) * d.every)
	case d.at > 0:
		if at := began.Add(d.at); fired == 0 && at > base {
			return at
		}
		return 0
	}
	if d.cron == nil {
		return 0
	}
	next := d.cron.Next(base.Std())
	if next.IsZero() {
		return 0
	}
	return protocol.TimeOf(next)
}

// parseCron reads six fields, seconds first; nil = it never comes. The library takes more, such as time zones.
func parseCron(text string) (cron.Schedule, error) {
	fields := strings.Fields(text)
	if len(fields) != 6 || strings.ContainsAny(text, "=@") {
		return nil, fmt.Errorf("cron %q: want six fields: second minute hour day month weekday", text)
	}
	s, err := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("cron %q: %w", text, err)
	}
	empty := slices.ContainsFunc(fields, func(f string) bool { return strings.Trim(f, ",") == "" }) // the library looks for it second by second
	if empty || s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {                      // a leap year: what comes at all comes within five years
		return nil, nil
	}
	return s, nil
}

// stored is a State in a snapshot.
type stored struct {
	Current string
	Entered protocol.Time
	Changed uint64
	Vars    protocol.Raw
	Fired   []storedFired
	Asked   []Collection
	Outcome []Outcome
	Seed    uint64
}

type storedFired struct {
	Schedule string
	At       protocol.Time
}

// Snapshot encodes the state. Equal states have equal bytes.
func (s *State) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	x := stored{Current: s.Current, Entered: s.Entered, Changed: s.Changed, Seed: s.Seed, Vars: protocol.Encode(s.Vars)}
	for _, id := range protocol.SortedKeys(s.Fired) {
		x.Fired = append(x.Fired, storedFired{id, s.Fired[id]})
	}
	for _, id := range protocol.SortedKeys(s.Asked) {
		x.Asked = append(x.Asked, *s.Asked[id])
	}
	if s.Outcome != nil {
		x.Outcome = []Outcome{*s.Outcome}
	}
	return codec.Marshal(&x)
}

// Restore reads what Snapshot wrote.
func Restore(codec *protocol.Codec, raw protocol.Raw) (*State, error) {
	var x stored
	if err := grown.Unmarshal(codec, raw, &x); err != nil {
		return nil, err
	}
	s := &State{Current: x.Current, Entered: x.Entered, Changed: x.Changed, Seed: x.Seed, Fired: map[string]protocol.Time{}, Asked: map[string]*Collection{}}
	v, err := x.Vars.Value()
	if err != nil {
		return nil, err
	}
	s.Vars, _ = v.(map[string]any)
	for _, f := range x.Fired {
		s.Fired[f.Schedule] = f.At
	}
	for i := range x.Asked {
		s.Asked[x.Asked[i].ID] = &x.Asked[i]
	}
	if len(x.Outcome) > 0 {
		s.Outcome = &x.Outcome[0]
	}
	return s, nil
}
