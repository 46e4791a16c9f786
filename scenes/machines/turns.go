package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/script/gates"
	"tavernsim/engine/script/turns"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// The stage keeps the order of turns beside the agenda. It asks the order at the end of each
// wave, when the wave's turns and events are known. It wakes an agent that has a turn then one
// tick later, like every agent that heard something.

// newTurns is the order of a scene; nil = it has none.
func newTurns(sc *setup.Scene) *gates.Order {
	step := sc.Simulation().Tick.Std()
	if sc.Clock == agenda.Realtime {
		step = 0
	}
	return gates.New(sc.Turns, step)
}

// rulesNow are those of the state in which the script is, else the scene's.
func (s *StageState) rulesNow() *turns.Rules {
	if s.script == nil {
		return s.scene.Turns
	}
	return s.scene.TurnsIn(s.script.State.Current)
}

// turnInput is what the order decides by in the open wave.
func (w *record) turnInput() *turns.Input {
	return &turns.Input{
		Now: w.time, Step: w.Turns.Step(), Name: w.scene.Name, Rests: func(o uint32) bool { return w.Agenda.Standing(o).Resting },
		World: func() any { return w.View.World().Value() },
		Agent: func(o uint32) any { return w.scene.AgentValue(o) },
		Warn:  func(err error) { w.warnOnce("turns", err) },
	}
}

// decideTurns keeps what the order decides at the end of the open wave, and publishes the
// events about it one tick later.
func (w *wave) decideTurns() error {
	if w.Turns == nil || w.Agenda.Ended != "" {
		return nil
	}
	in := w.turnInput()
	var told []protocol.Sequenced
	for f := w.Turns.Decide(in); f != nil; f = w.Turns.Decide(in) {
		if err := w.keepOwn(f); err != nil {
			return err
		}
		if payload := gates.Told(f, w.scene.Name); payload != nil {
			told = append(told, protocol.Sequenced{To: bus.Service, Data: systemEvent(f.FactKind(), payload)})
		}
	}
	if len(told) > 0 {
		due := w.time.Add(max(in.Step, 1)) // the end of the wave drops what is due by then
		if err := w.keepOwn(&agenda.EffectsDeferred{Agent: uint32(w.scene.OwnOrdinal()), Due: due, Effects: told}); err != nil {
			return err
		}
	}
	shown := *w.View
	shown.Turns = w.Turns.View(w.scene.Name)
	w.show(&shown, w.time)
	return nil
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
