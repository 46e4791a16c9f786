package history

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// Fork appends the wave with the changes of a fork to a cut journal: its fact, then the
// changes of the world.
func Fork(sc *setup.Scene, journal Writer, opt Options, forked *agenda.Forked, sets []world.Request) (persistence.Wave, error) {
	state, err := FoldTo(sc, journal, journal.Durable().Number, opt)
	if err != nil {
		return persistence.Wave{}, err
	}
	now, facts := state.Agenda.Now, []appended{{setup.ActorScene, forked}}
	requests := make([]worldstate.Request, len(sets))
	for i := range sets {
		requests[i].Change = sets[i]
	}
	d := sc.Rules.Decide(state.WorldState(), now, requests)
	for _, f := range d.Facts {
		if refused, ok := f.(*world.Refused); ok {
			return persistence.Wave{}, protocol.Errorf(protocol.KindInvalid, "scene %s: world.%s cannot be set: %s", state.ID(), refused.Path, refused.Message)
		}
		facts = append(facts, appended{machines.ActorWorld, f})
	}
	for _, p := range state.Tasks().State.Players {
		facts = append(facts, appended{machines.ActorTasks, &tooltask.Released{Agent: p.Agent, Reason: tooltask.ReasonForked}})
	}
	for _, t := range state.Tasks().State.Open() {
		if t.Kind == tooltask.KindAgent { // nobody outside carries it out
			continue
		}
		facts = append(facts, appended{machines.ActorTasks, t.Cancel(tooltask.ReasonForked, now)})
	}
	closed := &agenda.WaveClosed{Wave: state.Agenda.Wave + 1, World: d.Next.World().Version()}
	return appendWave(journal, now, append(facts, appended{setup.ActorScene, closed})...)
}
