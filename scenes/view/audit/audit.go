// Package audit is the view of the changes in a run: their author, the old and the new value.
package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/secret"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
)

// Query chooses changes; empty fields choose all.
type Query struct {
	inspect.Span
	Path  string   // at or below; of the world a pattern with * and **
	Agent string   // who
	Tool  string   // calls of it; a name may end in *
	What  []string // any of [Whats]
	Tags  []string // state commands with any of them
	Limit int      // 0 = all
}

// List hands over the changes of a scene that q chooses, in order. It folds the run beside
// the facts, so that it can say what was there before.
func List(s *inspect.Scene, q Query, yield func(inspect.Change) error) error {
	said, err := publish.NewOrders()
	a := &auditing{Scene: s, q: q, yield: yield, journal: s.Journal(), calls: calls{map[string]*answer{}, map[string]*tooltask.Task{}}, orders: orders{map[string]*turnOrders{}, said}}
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return err
	}
	query, err := s.Query(q.Span, persistence.Query{})
	if err != nil {
		return err
	}
	return a.run(query)
}

type auditing struct {
	*inspect.Scene
	q       Query
	pattern world.Path
	yield   func(inspect.Change) error
	journal history.Journal
	wave    uint64 // of the fact before
	state   *machines.State
	calls   calls
	orders  orders
	found   int
}

func (a *auditing) check() error {
	for _, what := range a.q.What {
		if !slices.Contains(Whats(), what) {
			return protocol.Errorf(protocol.KindInvalid, "what %q: want %s", what, strings.Join(Whats(), ", "))
		}
	}
	if a.q.Path != "" {
		p, err := world.ParsePattern(a.q.Path)
		if err != nil {
			return err
		}
		a.pattern = world.Path(p)
	}
	return a.Known(a.q.Agent)
}

// run folds up to the span, then on through it. Only private states and entries
// need a fold; calls alone do not.
func (a *auditing) run(query persistence.Query) (err error) {
	if err := a.grants(); err != nil {
		return err
	}
	if len(a.q.Tags) > 0 {
		query.Kinds = []string{statecmd.FactCommitted} // it holds what was before and after
		return a.Scan(query, a.record)
	}
	if err := a.opened(query); err != nil {
		return err
	}
	if a.q.Tool != "" || len(a.q.What) > 0 && !slices.ContainsFunc(a.q.What, func(what string) bool { return !ofTool(what) }) {
		if query.Kinds, query.Actor = callFacts(), a.q.Agent; len(a.q.What) == 0 || slices.Contains(a.q.What, inspect.WhatTask) || slices.Contains(a.q.What, inspect.WhatHook) {
			query.Kinds, query.Actor = append(query.Kinds, taskFacts()...), "" // a service tells of tasks
		}
		return a.Scan(query, a.record)
	}
	start, err := a.startOf(query)
	if err != nil {
		return err
	}
	if a.state, err = a.Fold(start.Number); err != nil {
		return err
	}
	fold := persistence.Query{From: start.Last + 1, To: query.To, Until: query.Until}
	wanted := query
	return a.Scan(fold, func(r protocol.Record) error {
		if r.Seq >= wanted.From && (wanted.Since == 0 || r.Time >= wanted.Since) {
			return a.record(r)
		}
		return a.state.Apply(r)
	})
}

// grants hands over what the tools of the run were granted, if the query asks for it: the
// manifest has it, and no fact.
func (a *auditing) grants() error {
	if !slices.Contains(a.q.What, inspect.WhatGrant) {
		return nil
	}
	for _, g := range a.Manifest().Grants {
		for _, id := range protocol.SortedKeys(g.Tools) {
			if err := a.emit([]inspect.Change{{Time: g.At.Format(time.RFC3339Nano), What: inspect.WhatGrant, Tool: id, Value: protocol.ListOf(g.Tools[id]), Status: inspect.StatusAllowed}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// opened finds the tasks that are open where a query begins: their ends do not say what was asked.
func (a *auditing) opened(q persistence.Query) error {
	if q.From == 0 && q.Since == 0 {
		return nil
	}
	return a.Scan(persistence.Query{Kinds: taskFacts()}, func(r protocol.Record) error {
		if r.Seq >= q.From && r.Time >= q.Since {
			return inspect.ErrStop
		}
		fact, err := a.Fact(r)
		if f, ok := fact.(tooltask.Fact); ok {
			a.calls.task(inspect.Change{}, f)
		}
		return err
	})
}

// startOf is the last wave before a query.
func (a *auditing) startOf(q persistence.Query) (persistence.Wave, error) {
	begin := a.journal.Begin()
	switch {
	case q.From > begin.Last+1:
		return history.Find(a.journal, "seq:"+strconv.FormatUint(q.From-1, 10))
	case q.Since != 0:
		return a.waveBefore(q.Since)
	}
	return begin, nil
}

// waveBefore is the last wave whose time is before t.
func (a *auditing) waveBefore(t protocol.Time) (persistence.Wave, error) {
	found := a.journal.Begin()
	err := a.journal.Waves(found.Number+1, func(w persistence.Wave) error {
		if w.MaxTime >= t {
			return inspect.ErrStop
		}
		found = w
		return nil
	})
	if errors.Is(err, inspect.ErrStop) {
		err = nil
	}
	return found, err
}

// record folds a fact and hands its changes over.
func (a *auditing) record(r protocol.Record) error {
	list, fact, err := a.changesOf(r)
	if err != nil {
		return err
	}
	if a.state != nil {
		a.before(r, fact, list)
		a.see(r.Actor, fact, list)
		if err := a.state.Apply(r); err != nil {
			return err
		}
		a.after(r, fact, list)
	}
	return a.emit(list)
}

// changesOf are the changes of a fact; facts that tell of none are not decoded.
func (a *auditing) changesOf(r protocol.Record) ([]inspect.Change, protocol.Fact, error) {
	switch r.Kind {
	case agentfact.FactTurnEnded, agentfact.FactModelAnswered, agentfact.FactSaid, bus.FactRouted, bus.FactRefused, agenda.FactWaveClosed:
		return nil, nil, nil
	}
	fact, err := a.Fact(r)
	if err != nil {
		return nil, nil, err
	}
	wave, err := a.WaveOf(r.Seq, a.wave)
	a.wave = wave.Number
	base := inspect.Change{Seq: r.Seq, Wave: wave.Number, Time: r.Time.String(), Status: inspect.StatusApplied}
	return a.calls.changes(base, r.Actor, fact, inspect.Changes(r, wave.Number, fact)), fact, err
}

func (a *auditing) emit(list []inspect.Change) error {
	for i := range list {
		if !a.wants(&list[i]) {
			continue
		}
		list[i].Differences = betweenJSON(list[i].Before, list[i].After)
		a.redact(&list[i])
		if err := a.yield(list[i]); err != nil {
			return err
		}
		if a.found++; a.found == a.q.Limit {
			return inspect.ErrStop
		}
	}
	return nil
}

// betweenJSON are the differences of two objects or lists; nothing for others.
func betweenJSON(before, after any) []inspect.Difference {
	x, isX := before.(json.RawMessage)
	y, isY := after.(json.RawMessage)
	if !isX || !isY || len(x) < 2 || x[0] != '{' || len(y) < 2 || y[0] != '{' {
		return nil
	}
	a, err := parseValue(x)
	b, err2 := parseValue(y)
	if err != nil || err2 != nil {
		return nil
	}
	one, err := world.FromValue(a.(map[string]any), 1)
	two, err2 := world.FromValue(b.(map[string]any), 1)
	if err != nil || err2 != nil {
		return nil
	}
	list, _ := inspect.Differences(one, two)
	return list
}

func (a *auditing) wants(c *inspect.Change) bool {
	above := c.At != nil && len(c.At) < len(a.pattern) // what is asked for lies below: did it change?
	if above && c.Status == inspect.StatusApplied && factjson.Same(c.Before, c.After) {
		return false
	}
	tagged := func(tag string) bool { return slices.Contains(c.Tags, tag) }
	return (len(a.q.Tags) == 0 || slices.ContainsFunc(a.q.Tags, tagged)) && (a.q.Agent == "" || a.q.Agent == c.By || a.q.Agent == c.Of) && (a.q.Tool == "" || ofTool(c.What) && inspect.Matches(a.q.Tool, c.Tool)) &&
		(len(a.q.What) == 0 || slices.Contains(a.q.What, c.What)) && a.below(c)
}

// below reports whether a change is at or below the path that is asked for, or
// at something above it.
func (a *auditing) below(c *inspect.Change) bool {
	switch {
	case a.q.Path == "":
		return true
	case c.At != nil:
		return inspect.Touches(a.pattern, c.At)
	}
	return (!ofTool(c.What) || c.What == inspect.WhatEdit) && strings.HasPrefix(c.Path, a.q.Path) // a goal, an entry or a file, by its id
}

// before fills in what was there, and the deliberation that goes on.
func (a *auditing) before(r protocol.Record, fact protocol.Fact, list []inspect.Change) {
	switch x := fact.(type) {
	case *world.Committed:
		a.worldValues(x, list)
	case *world.Refused:
		list[0].Before = at(a.state.World(), x.Path)
		list[0].After = list[0].Before
	case *agentfact.StateUpdated:
		list[0].Before, list[0].Turn = a.privateValue(r.Actor, a.seenAt(list[0].At)), a.turn(r.Actor)
	case *agentfact.GoalsUpdated:
		list[0].Before, list[0].Turn = a.goal(r.Actor, x.Goal.ID), a.turn(r.Actor)
	case *agentfact.GoalChanged:
		list[0].Before, list[0].Turn = a.goal(r.Actor, x.Goal.ID), a.turn(r.Actor)
	case *knowledge.Written:
		if base, ok := a.state.Knowledge().Base(x.KB); ok {
			if e, ok := base.Get(x.EntryID); ok {
				list[0].Before = factjson.JSON(e.Value())
			}
		}
	}
}

// after fills in what is there now.
func (a *auditing) after(r protocol.Record, fact protocol.Fact, list []inspect.Change) {
	if _, ok := fact.(*agentfact.StateUpdated); ok {
		list[0].After = a.privateValue(r.Actor, a.seenAt(list[0].At))
	}
}

// worldValues carries out the changes of a commit one by one, so that each is
// shown against what the ones before it left.
func (a *auditing) worldValues(c *world.Committed, list []inspect.Change) {
	doc := a.state.World()
	for i := range c.Changes {
		path := a.seenAt(c.Changes[i].Path)
		list[i].Before = at(doc, path)
		one := &world.Committed{Time: c.Time, Before: doc.Version(), After: doc.Version() + 1, Changes: c.Changes[i : i+1]}
		next, err := world.Apply(doc, one)
		if err != nil {
			list[i].Error = err.Error()
			return
		}
		doc = next
		list[i].After = at(doc, path)
	}
}

// seenAt is where a change of the world is looked at: its own path, or the one
// that is asked for when that lies below.
func (a *auditing) seenAt(p world.Path) world.Path {
	wild := slices.ContainsFunc(a.pattern, func(s world.Segment) bool { return s.Kind == world.AnyOne || s.Kind == world.AnyDeep })
	if len(a.pattern) > len(p) && !wild && inspect.Touches(a.pattern, p) {
		return a.pattern
	}
	return p
}

// at is what a document holds at a path; nil when there is nothing. The place
// behind the last element of a list is shown as the list's last element.
func at(doc *world.Document, p world.Path) any {
	if len(p) > 0 && p[len(p)-1].Kind == world.Append {
		return nil
	}
	v, found := doc.Get(p)
	if !found {
		return nil
	}
	return factjson.JSON(v)
}

// turn is the number of the deliberation in which an agent is.
func (a *auditing) turn(id string) uint64 {
	if o, ok := a.state.Ordinal(id); ok {
		return a.state.Agents[o].State.Turn + 1
	}
	return 0
}

// privateValue is what an agent's private state holds at a path; nil when there
// is nothing.
func (a *auditing) privateValue(id string, path world.Path) any {
	o, ok := a.state.Ordinal(id)
	if !ok {
		return nil
	}
	return factjson.JSON(lookup(inspect.Private(a.state.Agents[o]), path))
}

// lookup follows a path through a value; nil when it leads nowhere.
func lookup(v any, p world.Path) any {
	for _, seg := range p {
		switch x := v.(type) {
		case map[string]any:
			v = x[seg.Key]
		case []any:
			if seg.Kind != world.Index || seg.Pos >= len(x) || seg.Pos < -len(x) {
				return nil
			}
			v = x[(seg.Pos+len(x))%len(x)]
		default:
			return nil
		}
	}
	return v
}

func (a *auditing) goal(id, name string) any {
	o, ok := a.state.Ordinal(id)
	if !ok {
		return nil
	}
	m := a.state.Agents[o]
	for _, g := range m.State.Goals {
		if g.ID == name {
			return factjson.Goal(g, m.Def.Told)
		}
	}
	return nil
}

// redact hides what stands at paths that lead through the names of secrets; what
// stands under such names within a value is hidden already (package fields).
func (a *auditing) redact(c *inspect.Change) {
	hidden := secret.OnPath(c.Path) || secret.OnPath(a.seenAt(c.At).String())
	for _, v := range []*any{&c.Before, &c.After, &c.Value} {
		*v = hide(*v, hidden)
	}
	for i := range c.Differences {
		d := &c.Differences[i]
		within := hidden || secret.OnPath(d.Path)
		d.Before, d.After = hide(d.Before, within), hide(d.After, within)
	}
}

func hide(v any, hidden bool) any {
	if v == nil || !hidden {
		return v
	}
	return factjson.JSON(secret.Redacted)
}

// parseValue reads JSON as a value, numbers exact.
func parseValue(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return protocol.Normalize(v)
}
