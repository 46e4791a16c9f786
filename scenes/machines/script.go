package machines

import (
	"fmt"
	"slices"
	"time"

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

	input   sceneInput
	secrets []string // types of events that only the scene hears, at version
	version uint64   // of secrets
	warned  map[string]bool
}

// sceneInput is the input `scene` of agents, at a version of the script.
type sceneInput struct {
	version uint64
	value   map[string]any
}

// InputScene is what agents know of the script, by the name of their input.
const InputScene = "scene"

func newScripting(sc *setup.Scene, people order.Setting) *scripting {
	if sc.Script == nil {
		return nil
	}
	x := &scripting{State: script.New(sc.Script), machine: &script.Machine{Program: sc.Script, Cast: people, Seed: sc.Seed}, warned: map[string]bool{}}
	return x
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

// Seeded takes the seed of the run from its facts, for verify from a history, which says with which one it began.
func (s *StageState) Seeded(seed uint64) {
	if s.script != nil {
		s.script.State.Seed = seed
	}
}

// hears notes an event for the script.
func (s *Stage) hears(x *bus.Routed) {
	if s.script != nil && x.Released == 0 && s.script.machine.Types[x.Type] {
		s.wave.heard = append(s.wave.heard, x)
	}
}

// look lets the script decide about the open wave.
func (s *Stage) look() error {
	if s.script == nil {
		return nil
	}
	w, x := s.wave, s.script
	x.machine.Seed = x.State.Seed
	d, err := x.machine.Look(x.State, &script.Input{
		Now: w.time, Began: s.Agenda.Begun(), Wave: w.number, Events: w.heard, Given: w.given,
		Roots:  conditionRoots{s.StageState, w.time, w.number},
		Ending: slices.ContainsFunc(w.facts, func(f protocol.Fact) bool { _, ended := f.(*agenda.Ended); return ended }),
	})
	if err != nil {
		return err
	}
	for _, warning := range d.Warnings {
		s.warnOnce(warning)
	}
	for _, f := range d.Facts {
		if err := s.keepScript(f); err != nil {
			return err
		}
	}
	return s.ask(d.Do)
}

// warnOnce warns of a condition that fails, once in a process.
func (s *Stage) warnOnce(warning error) {
	if text := warning.Error(); !s.script.warned[text] && len(s.script.warned) < maxWarnings {
		s.script.warned[text] = true
		s.effect(Effect{Act: ActWarn, Err: warning})
	}
}

const maxWarnings = 1_000

func (s *Stage) keepScript(f script.Fact) error {
	if err := s.keepOwn(f); err != nil {
		return err
	}
	if x, ok := f.(*script.Refused); ok {
		s.tell(&s.wave.told, x.By, protocol.KindData{Kind: script.FactRefused, Data: s.effects[len(s.effects)-1].Data})
	}
	return nil
}

// ask defers what the actions of the script ask for.
func (s *Stage) ask(list []script.Request) error {
	effects, stage, failed := order.Requests(s.asItIs(), order.Asker{By: ByScript, Source: setup.ActorScene}, fmt.Sprintf("script/%d", s.wave.number), list)
	for _, f := range failed {
		if err := s.keepOwn(f); err != nil {
			return err
		}
	}
	if err := s.change(stage, &cast.Request{ID: fmt.Sprintf("script/%d", s.wave.number), By: ByScript}); err != nil || len(effects) == 0 {
		return err
	}
	return s.keepOwn(&agenda.EffectsDeferred{Agent: uint32(s.scene.OwnOrdinal()), Due: s.reaction(s.wave.time), Effects: effects})
}

// reaction is one tick after a time; on the realtime clock as soon as can be.
func (s *Stage) reaction(at protocol.Time) protocol.Time {
	wait := time.Duration(1)
	if !s.realtime() {
		wait = max(wait, s.scene.Simulation().Tick.Std())
	}
	return s.Agenda.Grid(at.Add(wait))
}

// sealed directs an answer to the scene while a secret collection of its type is open.
func (s *Stage) sealed(r protocol.Sequenced) protocol.Sequenced {
	x := s.script
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
	if v := x.State.Version() + 1; x.input.version != v {
		text, bad := x.machine.Context(x.State)
		if bad != nil {
			err = fmt.Errorf("the context of the state %s cannot be written and is empty: %w", x.State.Current, bad)
		}
		x.input = sceneInput{v, map[string]any{"state": x.State.Current, "context": text}}
	}
	return x.input.value, err
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
