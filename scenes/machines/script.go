package machines

import (
	"fmt"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/order"
	"tavernsim/engine/script"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// The script of a scene looks once per wave, after the services have decided. What its
// actions ask for are deferred requests of the scene, which join a wave one tick later.

// ByScript names the script where the world names the author of a change.
const ByScript = "$script"

// scripting is the script of a scene; nil = it has none. State is kept.
type scripting struct {
	State   *script.State
	machine *script.Machine

	input   map[string]any // `scene` of agents, at shownAt
	shownAt uint64         // a version of the script, as the next
	secrets []string       // types of events that only the scene hears, at version
	version uint64         // of secrets
}

// InputScene is what agents know of the script, by the name of their input.
const InputScene = "scene"

func newScripting(sc *setup.Scene, people order.Setting) *scripting {
	if sc.Script == nil {
		return nil
	}
	return &scripting{State: script.New(sc.Script), machine: &script.Machine{Program: sc.Script, Cast: people, Seed: sc.Seed}}
}

// ScriptDue is when the script has something to do although nothing happens; 0 = never.
func (s *StageState) ScriptDue() protocol.Time {
	if s.script == nil {
		return 0
	}
	return s.script.machine.Next(s.script.State, s.Agenda.Begun(), s.Agenda.Now, s.Agenda.Wave, s.scene.Simulation().Tick.Std())
}

// applyScript folds a fact of the script.
func (s *StageState) applyScript(f script.Fact, at protocol.Time) error {
	if s.script == nil {
		return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: the scene %s has no script: the journal is of another project", f.FactKind(), s.scene.ID)
	}
	if err := s.script.State.Apply(f, s.Agenda.Wave+1, at); err != nil {
		return err
	}
	if x, ok := f.(*script.Entered); ok {
		s.activate(x.State, at)
		s.Turns.Enter(s.Agenda, s.rulesNow(), s.scene.Turns, at)
	}
	return nil
}

// activate lets those rest that are not active in a state, and no others.
func (s *StageState) activate(state string, at protocol.Time) {
	active := (&script.Machine{Program: s.scene.Script, Cast: s.scene}).Active(state) // also of those who are away
	for o := range uint32(s.scene.Size()) {
		if active == nil || active.Contains(o) {
			s.Agenda.Open(agenda.ByScript, o, at)
		} else {
			s.Agenda.Close(agenda.ByScript, o, at)
		}
	}
}

// seeded takes the seed that is in force from a fact on.
func (s *StageState) seeded(seed uint64) {
	s.Seed = &seed
	if s.script != nil {
		s.script.State.Seed = seed
	}
}

// hears reports whether the script looks at an event.
func (x *scripting) hears(f *bus.Routed) bool {
	return x != nil && f.Released == 0 && x.machine.Types[f.Type]
}

// look lets the script decide about the open wave.
func (c *changes) look() error {
	if c.script == nil {
		return nil
	}
	x := c.script
	x.machine.Seed = x.State.Seed
	d, err := x.machine.Look(x.State, &script.Input{
		Now: c.time, Began: c.Agenda.Begun(), Wave: c.number, Events: c.heard, Given: c.given,
		Roots:  conditionRoots{c.StageState, c.time, c.number},
		Ending: slices.ContainsFunc(c.facts, func(f protocol.Fact) bool { _, ended := f.(*agenda.Ended); return ended }),
	})
	if err != nil {
		return err
	}
	for _, warning := range d.Warnings {
		c.warnOnce(warning.Error(), warning)
	}
	for _, f := range d.Facts {
		if err := c.keepOwn(f); err != nil {
			return err
		}
		if x, ok := f.(*script.Refused); ok {
			c.tellLast(x.By, script.FactRefused)
		}
	}
	return c.ask(d.Do)
}

// ask defers what the actions of the script ask for.
func (c *changes) ask(list []script.Request) error {
	effects, stage, failed := order.Requests(c.asItIs(), order.Asker{By: ByScript, Source: setup.ActorScene}, fmt.Sprintf("script/%d", c.number), list)
	for _, f := range failed {
		if err := c.keepOwn(f); err != nil {
			return err
		}
	}
	if err := order.CarryOut(stage, c.asItIs(), &cast.Request{ID: fmt.Sprintf("script/%d", c.number), By: ByScript}, c.keepChange); err != nil || len(effects) == 0 {
		return err
	}
	return c.keepOwn(&agenda.EffectsDeferred{Agent: uint32(c.scene.OwnOrdinal()), Due: c.reaction(c.time), Effects: effects})
}

// sealed directs an answer to the scene while a secret collection of its type is open.
func (x *scripting) sealed(r protocol.Sequenced) protocol.Sequenced {
	if x == nil {
		return r
	}
	if v := x.State.Version() + 1; x.version != v {
		x.version, x.secrets = v, x.machine.Secrets(x.State)
	}
	if len(x.secrets) == 0 || r.To != bus.Service {
		return r
	}
	q, err := bus.ReadRequest(r.Data)
	if d, ok := q.(*protocol.Draft); err == nil && ok && slices.Contains(x.secrets, d.Type) {
		d.Targets = []string{setup.ActorScene}
		r.Data = d.AppendMsg(nil)
	}
	return r
}

// shown is the input `scene` of agents; nil = there is no script, or it has not begun.
func (x *scripting) shown() (value map[string]any, err error) {
	if x == nil || x.State.Current == "" {
		return nil, nil
	}
	if v := x.State.Version() + 1; x.shownAt != v {
		text, bad := x.machine.Context(x.State)
		if bad != nil {
			err = fmt.Errorf("the context of the state %s cannot be written and is empty: %w", x.State.Current, bad)
		}
		x.shownAt, x.input = v, map[string]any{"state": x.State.Current, "context": text}
	}
	return x.input, err
}

// checkScript refuses what an order wants of a script that there is not.
func checkScript(sc *setup.Scene, p *order.Plan) error {
	results := p.Results()
	if p.Set == nil && p.To == "" && p.Outcome == nil && results == nil {
		return nil
	}
	if sc.Script == nil {
		return protocol.Errorf(protocol.KindInvalid, "do: the scene %s has no script, which set, transition, outcome and result need", sc.ID)
	}
	if err := sc.Script.Check(results, ""); err != nil {
		return err
	}
	return sc.Script.Check(p.Set, p.To)
}

// Script is where the script of the scene stands, and its machine; nil = there is none.
func (s *StageState) Script() (*script.State, *script.Machine) {
	if s.script == nil {
		return nil, nil
	}
	return s.script.State, s.script.machine
}
