package script

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"tavernsim/engine/cast"
	"tavernsim/engine/collab"
	"tavernsim/engine/expr"
	"tavernsim/engine/script/plot"
	"tavernsim/engine/script/value"
	"tavernsim/engine/template"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// Program is a script that was checked. It is immutable.
type Program struct {
	Variables map[string]any
	States    map[string]*Node
	Order     []string // of the states, as written
	Start     string
	Types     map[string]bool // of the events that it hears of
	Runs      []string        // ids of workflows that actions run
	Beyond    bool            // some actions do not only change the world

	schedules []*schedule
	closing   *ending
	asks      map[string]*Ask   // by collection
	byEvent   map[string][]*Ask // in the order of the file
}

// Node is one state.
type Node struct {
	ID       string
	Active   []string // selectors; none = everybody
	Collects []*Ask

	context     *template.Template
	enter       []*action
	leave       []*action
	transitions []*transition
}

// Ask is one collection.
type Ask struct {
	plot.Collect
	State string
	check func(any) error // nil = any answer
	if_   *expr.Program   // nil = every answer

	question *value.Made
}

type transition struct {
	to        string
	when, if_ *expr.Program
	on        string
	after     time.Duration
	index     int
}

type schedule struct {
	id    string
	every time.Duration
	at    time.Duration
	cron  cron.Schedule
	in    []string // sorted; none = everywhere
	do    []*action
}

type action struct {
	kind   string
	fields *value.Made
	where  string
}

type ending struct{ outcome, winners, reason *value.Made }

// Checks are what a script needs of the scene to be checked.
type Checks struct {
	// Selector says what is wrong with a selector; "" = it means some agent.
	Selector func(text string) (fault string)
	// Change checks an action. Fields that are nil and in dynamic get their value when it
	// is carried out. lacks says that it needs a value and has none, which is null then, or has one that it does not take.
	Change func(kind string, fields map[string]any, dynamic map[string]bool) (lacks, err error)
	// Schema compiles the schema of answers, at these steps of the script.
	Schema func(schema any, steps []any) func(any) error
	// Workflow finds a workflow that is to run with these inputs, and reports what is wrong. all: no other is known later.
	Workflow func(steps []any, ref string, inputs []string, all bool) (id string)
	// EventType says what is wrong with the type of an event; "" = nothing.
	EventType func(string) string
	// Stops: the scene ends also without its script.
	Stops bool
}

// Fault is what is wrong with a script, at these steps of it.
type Fault struct {
	Steps      []any
	Message    string
	Suggestion string
	Warning    bool
	Strict     bool // older programs let it pass, so there is a program nevertheless
}

// Kinds of actions that a script carries out itself, by all their names.
const (
	kindSet      = "set"
	kindVariable = "variable"
	kindEnd      = "end"
)

func roots() []string {
	return []string{"world", "scene", "vars", "collected", "agents", "round"}
}

func rootsWithEvent() []string { return append(roots(), "event") }

// ContextRoots are what the text of a state may name.
func ContextRoots() []string { return []string{"vars", "collected", "state"} }

type compiler struct {
	Checks
	def    *plot.Definition
	p      *Program
	faults []Fault
}

// Compile checks a script. With faults that are neither warnings nor strict there is no program.
func Compile(def *plot.Definition, checks Checks) (*Program, []Fault) {
	c := &compiler{Checks: checks, def: def, p: &Program{
		Variables: def.Variables, States: map[string]*Node{}, Types: map[string]bool{}, asks: map[string]*Ask{}, byEvent: map[string][]*Ask{},
	}}
	c.variables()
	c.ids()
	for i := range def.States {
		c.state(i)
	}
	c.schedules()
	if e := def.Outcome; e != nil {
		c.p.closing = c.ending(map[string]any{"outcome": e.Outcome, "winners": e.Winners, "reason": e.Reason}, roots(), []any{"outcome"})
	}
	if len(c.p.States) > 0 {
		c.reach()
	}
	if slices.ContainsFunc(c.faults, func(f Fault) bool { return !f.Warning && !f.Strict }) {
		return nil, c.faults
	}
	return c.p, c.faults
}

func (c *compiler) fault(steps []any, suggestion, format string, args ...any) {
	c.faults = append(c.faults, Fault{Steps: slices.Clone(steps), Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

// strict reports a fault that older programs let pass.
func (c *compiler) strict(steps []any, suggestion, format string, args ...any) {
	c.fault(steps, suggestion, format, args...)
	c.faults[len(c.faults)-1].Strict = true
}

func (c *compiler) variables() {
	if n := len(c.def.Variables); n > plot.MaxVariables {
		c.fault([]any{"variables"}, "", "%d variables; at most %d", n, plot.MaxVariables)
	}
	for _, name := range protocol.SortedKeys(c.def.Variables) {
		if size := len(protocol.Encode(c.def.Variables[name])); size > MaxValue {
			c.fault([]any{"variables", name}, "", "%d bytes; a variable has at most %d", size, MaxValue)
		}
	}
}

// ids notes the states and what they collect, so that the others may name them.
func (c *compiler) ids() {
	if n := len(c.def.States); n == 0 || n > plot.MaxStates {
		c.fault([]any{"states"}, "", "%d states; want 1 to %d", n, plot.MaxStates)
	}
	transitions, collections := 0, 0
	for i := range c.def.States {
		d, steps := &c.def.States[i], []any{"states", i, "id"}
		transitions, collections = transitions+len(d.Transitions), collections+len(d.Collect)
		if c.id(d.ID, steps) && c.p.States[d.ID] != nil {
			c.fault(steps, "rename one of them", "the state %q is given twice", d.ID)
		}
		c.p.States[d.ID] = &Node{ID: d.ID, Active: d.Active}
		c.p.Order = append(c.p.Order, d.ID)
		for j := range d.Collect {
			k := &d.Collect[j]
			steps := []any{"states", i, "collect", j, "id"}
			if c.id(k.ID, steps) && c.p.asks[k.ID] != nil {
				c.fault(steps, "rename one of them", "the collection %q is given twice", k.ID)
			}
			c.p.asks[k.ID] = &Ask{Collect: *k, State: d.ID}
		}
	}
	if transitions > plot.MaxTransitions {
		c.fault([]any{"states"}, "", "%d transitions; at most %d", transitions, plot.MaxTransitions)
	}
	if collections > plot.MaxCollections {
		c.fault([]any{"states"}, "", "%d collections; at most %d", collections, plot.MaxCollections)
	}
	if c.p.Start = c.def.Start; c.p.Start == "" && len(c.def.States) > 0 {
		c.p.Start = c.def.States[0].ID
	}
	c.known(c.p.Start, []any{"start"})
}

func (c *compiler) id(id string, steps []any) bool {
	if len(id) > maxID {
		c.fault(steps, "", "%d bytes; an id has at most %d", len(id), maxID)
	}
	return id != "" // the missing field was reported
}

func (c *compiler) known(state string, steps []any) {
	if state == "" || c.p.States[state] != nil {
		return
	}
	c.fault(steps, source.Suggest(state, c.p.Order), "there is no state %q", state)
}

func (c *compiler) state(i int) {
	d, at := &c.def.States[i], func(more ...any) []any { return append([]any{"states", i}, more...) }
	n := c.p.States[d.ID]
	if d.Context != "" {
		t, err := template.Compile("context", d.Context, template.Roots(ContextRoots()...))
		if err != nil {
			c.fault(at("context"), "", "%s", err)
		}
		n.context = t
	}
	c.selectors(d.Active, true, at("active"))
	if t := d.Turns; t != nil {
		for _, f := range t.Faults() {
			c.fault(at("turns", f.Field), f.Hint, "%s", f.Message)
		}
		c.selectors(t.Participants, true, at("turns", "participants"))
		c.selectors(t.Order, true, at("turns", "order"))
	}
	for j := range d.Collect {
		c.collect(n, &d.Collect[j], at("collect", j))
	}
	n.enter = c.actions(d.OnEnter, rootsWithEvent(), at("on_enter"))
	n.leave = c.actions(d.OnLeave, rootsWithEvent(), at("on_leave"))
	for j := range d.Transitions {
		n.transitions = append(n.transitions, c.transition(&d.Transitions[j], j, at("transitions", j)))
	}
	if len(d.Transitions) == 0 && !c.Stops && !ends(n.enter) && !slices.ContainsFunc(c.def.Schedules, func(s plot.Schedule) bool { return slices.ContainsFunc(s.Do, isEnd) }) {
		c.faults = append(c.faults, Fault{Steps: at(), Warning: true, Suggestion: "add transitions, the action end, or simulation.stop",
			Message: fmt.Sprintf("the state %q has no way out, and the scene has no stop condition", d.ID)})
	}
}

func isEnd(a any) bool {
	m, _ := a.(map[string]any)
	_, ok := m[kindEnd]
	return ok
}

func ends(list []*action) bool {
	return slices.ContainsFunc(list, func(a *action) bool { return a.kind == kindEnd })
}

// selectors checks a list of them; if they must mean the same agents all the time, none is by place.
func (c *compiler) selectors(list []string, always bool, steps []any) {
	for i, s := range list {
		fault := c.Selector(s)
		if fault == "" && always {
			fault = cast.Changes(s)
		}
		if fault != "" {
			c.fault(append(slices.Clone(steps), i), "", "%s", fault)
		}
	}
}

func (c *compiler) collect(n *Node, d *plot.Collect, steps []any) {
	a := c.p.asks[d.ID]
	under := func(field string) []any { return append(slices.Clone(steps), field) }
	if d.Event != "" {
		if fault := c.EventType(d.Event); fault != "" {
			c.fault(under("event"), "", "the event type %q %s", d.Event, fault)
		}
		c.p.Types[d.Event] = true
		c.p.byEvent[d.Event] = append(c.p.byEvent[d.Event], a)
	}
	c.selectors(d.From, false, under("from"))
	if d.Schema != nil {
		a.check = c.Schema(d.Schema, under("schema"))
	}
	a.question = value.Compile(d.Question, rootsWithEvent(), under("question"), func(steps []any, message string) { c.fault(steps, "", "%s", message) })
	a.if_ = c.expression(d.If, rootsWithEvent(), under("if"))
	if d.Voting != nil {
		c.rules(d.Voting.Faults(), under("voting"))
	}
	if d.Auction != nil {
		c.rules(d.Auction.Faults(), under("auction"))
	}
	if d.Voting != nil && (d.Tally == "") != (d.Auction != nil) || d.Auction != nil && d.Tally != "" {
		c.fault(steps, "voting needs tally, the field that is the ballot; auction goes without both", "want one of tally, tally with voting, and auction")
	}
	n.Collects = append(n.Collects, a)
}

func (c *compiler) rules(faults []collab.Fault, steps []any) {
	for _, f := range faults {
		c.fault(append(slices.Clip(steps), f.Field), f.Hint, "%s", f.Message)
	}
}

func (c *compiler) transition(d *plot.Transition, index int, steps []any) *transition {
	t := &transition{to: d.To, on: d.On, after: d.After.Std(), index: index}
	under := func(field string) []any { return append(slices.Clone(steps), field) }
	c.known(d.To, under("to"))
	t.when = c.expression(d.When, roots(), under("when"))
	t.if_ = c.expression(d.If, rootsWithEvent(), under("if"))
	if d.If != "" && d.On == "" {
		c.fault(under("if"), "write when, or add on", "if is about the event of on, which is missing")
	}
	if d.On != "" {
		if fault := c.EventType(d.On); fault != "" {
			c.fault(under("on"), "", "the event type %q %s", d.On, fault)
		}
		c.p.Types[d.On] = true
	}
	return t
}

func (c *compiler) expression(src string, roots []string, steps []any) *expr.Program {
	if src == "" {
		return nil
	}
	p, err := expr.Compile(src, roots...)
	if err != nil {
		c.fault(steps, "", "the expression does not compile: %s", err)
	}
	return p
}

func (c *compiler) actions(list []any, roots []string, steps []any) (out []*action) {
	if len(list) > plot.MaxActions {
		c.fault(steps, "", "%d actions; at most %d", len(list), plot.MaxActions)
	}
	for i, v := range list {
		at := append(slices.Clone(steps), i)
		m, _ := v.(map[string]any)
		if len(m) != 1 {
			c.fault(at, "", "want an object with one field, the kind of the action")
			continue
		}
		for kind, fields := range m {
			if a := c.action(kind, fields, roots, append(at, kind)); a != nil {
				out = append(out, a)
			}
		}
	}
	return out
}

func (c *compiler) action(kind string, fields any, roots []string, steps []any) *action {
	if kind == "transition" {
		c.fault(steps, "add a transition to the state", "an action does not change the state of its own script")
		return nil
	}
	m, ok := fields.(map[string]any)
	if !ok && fields != nil {
		c.fault(steps, "", "want an object with the fields of %s", kind)
		return nil
	}
	a := &action{kind: kind, where: where(steps)}
	a.fields = value.Compile(m, roots, steps, func(steps []any, message string) { c.fault(steps, "", "%s", message) })
	if a.fields.Fields == nil {
		a.fields = &value.Made{Fields: map[string]*value.Made{}}
	}
	dynamic := map[string]bool{}
	for name, f := range a.fields.Fields {
		dynamic[name] = f.Dynamic
	}
	static, _ := a.fields.Static().(map[string]any)
	lacks, err := c.Change(kind, static, dynamic)
	if err != nil {
		c.fault(steps, "", "%s", err)
		return nil
	}
	if lacks != nil {
		c.strict(steps, "", "%s", lacks)
	}
	c.p.Beyond = c.p.Beyond || kind != "world"
	if kind == kindSet || kind == kindVariable {
		c.sets(static, steps)
	}
	if kind == KindAsk || kind == KindRun {
		c.replying(a, static, dynamic, steps)
	}
	return a
}

// where is the place of an action in the script.
func where(steps []any) string {
	var b strings.Builder
	for _, s := range steps {
		if i, ok := s.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		fmt.Fprint(&b, s)
	}
	return b.String()
}

func (c *compiler) ending(fields map[string]any, roots []string, steps []any) *ending {
	fault := func(steps []any, message string) { c.fault(steps, "", "%s", message) }
	part := func(name string) *value.Made {
		return value.Compile(fields[name], roots, append(slices.Clone(steps), name), fault)
	}
	e := &ending{part("outcome"), part("winners"), part("reason")}
	if text, ok := e.outcome.Literal.(string); !e.outcome.Dynamic && (!ok || text == "") {
		c.fault(append(slices.Clone(steps), "outcome"), "", "want the name of an outcome, or an expression")
	}
	return e
}

func (c *compiler) schedules() {
	if n := len(c.def.Schedules); n > plot.MaxSchedules {
		c.fault([]any{"schedules"}, "", "%d schedules; at most %d", n, plot.MaxSchedules)
	}
	ids := map[string]bool{}
	for i := range c.def.Schedules {
		d, under := &c.def.Schedules[i], func(more ...any) []any { return append([]any{"schedules", i}, more...) }
		if c.id(d.ID, under("id")) && ids[d.ID] {
			c.fault(under("id"), "rename one of them", "the schedule %q is given twice", d.ID)
		}
		ids[d.ID] = true
		s := &schedule{id: d.ID, every: d.Every.Std(), at: d.At.Std(), in: slices.Sorted(slices.Values(d.In))}
		missing := func(given bool) bool { return !given }
		if n := len(slices.DeleteFunc([]bool{d.Every != 0, d.At != 0, d.Cron != ""}, missing)); n != 1 {
			c.fault(under(), "", "want one of every, at, cron")
		}
		if d.Cron != "" {
			var err error
			switch s.cron, err = parseCron(d.Cron); {
			case err != nil:
				c.fault(under("cron"), "", "%s", err)
			case s.cron == nil:
				c.faults = append(c.faults, Fault{Steps: under("cron"), Message: fmt.Sprintf("cron %q never comes: a field has no value, or no month that it names has such a day", d.Cron), Warning: true})
			}
		}
		for j, state := range d.In {
			c.known(state, under("in", j))
		}
		if d.Do != nil && len(d.Do) == 0 { // the missing field was reported
			c.strict(under("do"), "list actions, or remove the schedule", "the schedule does nothing")
		}
		s.do = c.actions(d.Do, roots(), under("do"))
		c.p.schedules = append(c.p.schedules, s)
	}
}

// reach reports states to which nothing leads.
func (c *compiler) reach() {
	seen, todo := map[string]bool{c.p.Start: true}, []string{c.p.Start}
	for len(todo) > 0 {
		n := c.p.States[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		if n == nil {
			continue
		}
		for _, t := range n.transitions {
			if !seen[t.to] {
				seen[t.to], todo = true, append(todo, t.to)
			}
		}
	}
	for i, id := range c.p.Order {
		if !seen[id] && id != "" {
			c.fault([]any{"states", i, "id"}, "", "no transition leads to the state %q from the start %q", id, c.p.Start)
		}
	}
}

// Ask finds a collection; nil = there is none.
func (p *Program) Ask(collection string) *Ask { return p.asks[collection] }
