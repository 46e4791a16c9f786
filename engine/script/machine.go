package script

import (
	"fmt"
	"slices"
	"time"

	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/expr"
	"tavernsim/engine/script/value"
	"tavernsim/protocol"
)

// Cast are the agents of a scene.
type Cast interface {
	Members(cast.Selectors) []uint32 // ascending
	Name(ordinal uint32) string
	Ordinal(instance string) (uint32, bool)
	Size() int
	// Groups counts the agents of each role and of each profile.
	Groups() (roles, profiles map[string]any)
}

// Machine decides for one scene. It remembers no more than what it can compute again.
type Machine struct {
	*Program
	Cast Cast
	Seed uint64

	agents any // the root agents; nil = not computed
	last   struct {
		of            *Collection // closed; nil = none
		counts, value map[string]any
	}
	next struct {
		of      *State
		version uint64
		at      protocol.Time
	}
}

// Input is what the script looks at when a wave ends.
type Input struct {
	Now    protocol.Time
	Began  protocol.Time // of the scene
	Wave   uint64
	Events []*bus.Routed // of the types of [Program.Types], in their order
	Roots  expr.Env      // world and scene
	Given  []Given       // in their order
	Ending bool          // the wave is the last one
}

// Given is what an order or a director wants of the script.
type Given struct {
	Set map[string]any // variables
	To  string         // state; "" = none. The last one that is given counts
	Why string         // who it is: "order" or "director", and the name
}

// Decision is what a script decided about a wave.
type Decision struct {
	Facts    []Fact
	Do       []Request
	Warnings []error // expressions that failed
}

// Request is a change that an action asks for: an object with one field, its kind.
type Request struct {
	Where  string // in the script
	Change map[string]any
}

// Check refuses a wish from outside that the script cannot fulfil.
func (p *Program) Check(set map[string]any, to string) error {
	for _, name := range protocol.SortedKeys(set) {
		if _, ok := p.Variables[name]; !ok {
			return protocol.Errorf(protocol.KindNotFound, "set: the script has no variable %q", name)
		}
		if size := len(protocol.Encode(set[name])); size > MaxValue {
			return protocol.Errorf(protocol.KindLimit, "set: %q has %d bytes; a variable has at most %d", name, size, MaxValue)
		}
	}
	if to != "" && p.States[to] == nil {
		return protocol.Errorf(protocol.KindNotFound, "transition: the script has no state %q", to)
	}
	return nil
}

// looking is one look. It works on a copy of the state from the first fact on, so that
// later actions see what earlier ones did.
type looking struct {
	*Machine
	in    *Input
	state *State
	own   bool // state is a copy
	out   Decision
	event *bus.Routed // of the transition that is taken
}

// Look decides what follows from a wave. It changes nothing.
func (m *Machine) Look(s *State, in *Input) (*Decision, error) {
	l := &looking{Machine: m, in: in, state: s}
	if s.Outcome != nil && s.Outcome.Ends {
		return &l.out, nil
	}
	steps := []func() error{l.given, l.replies, l.answers, l.due, l.move}
	switch {
	case in.Ending:
		steps = []func() error{l.end}
	case s.Current == "":
		steps = []func() error{func() error { return l.enter(m.Start, "start") }}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
		if l.state.Outcome != nil && l.state.Outcome.Ends {
			break
		}
	}
	return &l.out, nil
}

func (l *looking) decide(f Fact) error {
	if !l.own {
		l.state, l.own = l.state.clone(), true
	}
	l.out.Facts = append(l.out.Facts, f)
	return l.state.Apply(f, l.in.Wave, l.in.Now)
}

// Lookup gives the roots of expressions.
func (l *looking) Lookup(root string) (any, bool) {
	switch root {
	case "vars":
		return l.state.Vars, true
	case "collected":
		return l.collected(l.state, false), true
	case "agents":
		return l.counted(), true
	case "event":
		if l.event == nil {
			return nil, true
		}
		return protocol.EventValue(l.event.Event("").Envelope), true
	}
	return l.in.Roots.Lookup(root)
}

// Context renders the text of the state; "" = it has none.
func (m *Machine) Context(s *State) (string, error) {
	n := m.States[s.Current]
	if n == nil || n.context == nil {
		return "", nil
	}
	text, err := n.context.AppendFrom(nil, contextRoots{m, s}, nil)
	if len(text) > MaxContext {
		return "", protocol.Errorf(protocol.KindLimit, "the context of the state %s has %d bytes; at most %d", s.Current, len(text), MaxContext)
	}
	return string(text), err
}

type contextRoots struct {
	*Machine
	state *State
}

// Lookup gives the roots of the text of a state.
func (c contextRoots) Lookup(root string) (any, bool) {
	switch root {
	case "vars":
		return c.state.Vars, true
	case "collected":
		return c.collected(c.state, true), true
	case "state":
		return c.state.Current, true
	}
	return nil, false
}

// counted counts the agents.
func (m *Machine) counted() any {
	if m.agents == nil {
		roles, profiles := m.Cast.Groups()
		m.agents = map[string]any{"total": int64(m.selects([]string{"*"}).Len()), "roles": roles, "profiles": profiles}
	}
	return m.agents
}

// Recount forgets how many agents there are: some came or left.
func (m *Machine) Recount() { m.agents = nil }

func (l *looking) given() error {
	for _, g := range l.in.Given {
		for _, name := range protocol.SortedKeys(g.Set) {
			if err := l.decide(&Set{Variable: name, Value: protocol.Encode(g.Set[name]), Why: g.Why}); err != nil {
				return err
			}
		}
	}
	return nil
}

// due carries out the schedules whose moments have come.
func (l *looking) due() error {
	for _, d := range l.schedules {
		at := d.due(l.state, l.in.Began)
		if at == 0 || at > l.in.Now {
			continue
		}
		if err := l.decide(&Fired{Schedule: d.id, Moment: at}); err != nil {
			return err
		}
		if err := l.carryOut(d.do, "schedule "+d.id); err != nil {
			return err
		}
	}
	return nil
}

// move takes the transition that was given, or the first one that holds.
func (l *looking) move() error {
	for _, g := range slices.Backward(l.in.Given) {
		if g.To != "" {
			return l.enter(g.To, g.Why)
		}
	}
	n := l.States[l.state.Current]
	if n == nil {
		return protocol.Errorf(protocol.KindCorrupt, "the script has no state %q; the journal is of another project", l.state.Current)
	}
	for _, t := range n.transitions {
		if l.holds(t) {
			return l.enter(t.to, fmt.Sprintf("transition %d", t.index+1))
		}
	}
	return nil
}

func (l *looking) holds(t *transition) bool {
	if t.after > 0 && l.in.Now.Sub(l.state.Entered) < t.after {
		return false
	}
	l.event = nil
	if t.when != nil && !l.truth(t.when) {
		return false
	}
	if t.on == "" {
		return true
	}
	for _, e := range l.in.Events {
		if e.Type != t.on {
			continue
		}
		if l.event = e; t.if_ == nil || l.truth(t.if_) {
			return true
		}
	}
	l.event = nil
	return false
}

// truth evaluates a condition. One that fails counts as false.
func (l *looking) truth(p *expr.Program) bool {
	ok, err := p.EvalBool(l)
	if err != nil {
		l.out.Warnings = append(l.out.Warnings, fmt.Errorf("the condition %s of the script cannot be evaluated and counts as false: %w", p.Source(), err))
	}
	return ok && err == nil
}

// enter leaves the state and enters another, or the same one again.
func (l *looking) enter(to, why string) error {
	from := l.state.Current
	if n := l.States[from]; n != nil {
		if err := l.carryOut(n.leave, "state "+from); err != nil {
			return err
		}
		for _, a := range n.Collects {
			if c := l.state.Asked[a.ID]; c != nil && c.Open() {
				if err := l.close(c, ClosedByLeaving); err != nil {
					return err
				}
			}
		}
	}
	if err := l.decide(&Entered{State: to, From: from, Why: why}); err != nil {
		return err
	}
	n := l.States[to]
	for _, a := range n.Collects {
		if err := l.open(a); err != nil {
			return err
		}
	}
	return l.carryOut(n.enter, "state "+to)
}

// carryOut evaluates a list of actions, one after the other.
func (l *looking) carryOut(list []*action, why string) error {
	for _, a := range list {
		if err := l.act(a, why); err != nil {
			return err
		}
	}
	return nil
}

func (l *looking) act(a *action, why string) error {
	v, err := a.fields.Eval(l)
	fields, _ := v.(map[string]any)
	if err == nil {
		switch a.kind {
		case kindSet, kindVariable:
			err = l.set(fields, why)
		case kindEnd:
			err = l.outcome(fields["outcome"], fields["winners"], fields["reason"], true)
		default:
			if len(l.out.Do) >= MaxRequests {
				err = fmt.Errorf("one wave asks for at most %d changes", MaxRequests)
				break
			}
			l.out.Do = append(l.out.Do, Request{a.where, map[string]any{a.kind: fields}})
		}
	}
	if err != nil {
		return l.decide(&Failed{Where: a.where, Error: protocol.Short(err.Error(), maxText)})
	}
	return nil
}

func (l *looking) set(values map[string]any, why string) error {
	if err := l.Check(values, ""); err != nil {
		return err
	}
	for _, name := range protocol.SortedKeys(values) {
		if protocol.Equal(l.state.Vars[name], values[name]) {
			continue
		}
		if err := l.decide(&Set{Variable: name, Value: protocol.Encode(values[name]), Why: why}); err != nil {
			return err
		}
	}
	return nil
}

// end decides what the scene came to, when it ends for another reason.
func (l *looking) end() error {
	if l.closing == nil || l.state.Outcome != nil || l.state.Current == "" {
		return nil
	}
	var parts [3]any
	for i, m := range []*value.Made{l.closing.outcome, l.closing.winners, l.closing.reason} {
		var err error
		if parts[i], err = m.Eval(l); err != nil {
			return l.decide(&Failed{Where: "outcome", Error: protocol.Short(err.Error(), maxText)})
		}
	}
	if err := l.outcome(parts[0], parts[1], parts[2], false); err != nil {
		return l.decide(&Failed{Where: "outcome", Error: protocol.Short(err.Error(), maxText)})
	}
	return nil
}

func (l *looking) outcome(outcome, winners, reason any, ends bool) error {
	f, err := outcomeOf(outcome, winners, reason, ends)
	if err != nil {
		return err
	}
	return l.decide(f)
}

func outcomeOf(outcome, winners, reason any, ends bool) (*Outcome, error) {
	f := &Outcome{Ends: ends}
	var ok bool
	if f.Outcome, ok = outcome.(string); !ok || f.Outcome == "" || len(f.Outcome) > maxText {
		return nil, fmt.Errorf("outcome: want a text of 1 to %d bytes", maxText)
	}
	if f.Reason, ok = reason.(string); !ok && reason != nil || len(f.Reason) > maxText {
		return nil, fmt.Errorf("reason: want a text of at most %d bytes", maxText)
	}
	switch list := winners.(type) {
	case nil:
	case string:
		f.Winners = []string{list}
	case []any:
		for _, w := range list {
			name, ok := w.(string) // null is nobody, such as the winner of a tally without votes
			if !ok && w != nil || len(list) > maxWinners || len(name) > maxText {
				return nil, fmt.Errorf("winners: want at most %d texts of at most %d bytes", maxWinners, maxText)
			}
			f.Winners = append(f.Winners, name)
		}
	default:
		return nil, fmt.Errorf("winners: want a text or a list of texts")
	}
	f.Winners = slices.DeleteFunc(f.Winners, func(w string) bool { return w == "" })
	return f, nil
}

// OutcomeOf is the outcome that somebody outside gives, with which the scene ends.
func OutcomeOf(outcome, reason string, winners any) (*Outcome, error) {
	return outcomeOf(outcome, winners, reason, true)
}

// closes is when a collection that is opened now is closed; 0 = never.
func closes(now protocol.Time, after time.Duration) protocol.Time {
	if after <= 0 {
		return 0
	}
	return now.Add(after)
}
