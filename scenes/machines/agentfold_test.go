package machines_test

import (
	"slices"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// A fold tells an agent of its failure at once, and a publisher of a lost delivery
// once, when the wave is closed.
func TestAFoldTellsAgents(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	state := begin(t, made)
	fold := machines.AgentFold{Scene: made, Machine: func(o uint32) *agent.Machine { return state.Agents[o] }}
	dropped := &agentfact.Dropped{QueueFull: 1, Events: []agentfact.Drop{{Event: "e1", Source: made.Name(1), Reason: agentfact.DropQueueFull}}}
	for _, step := range []struct {
		actor string
		fact  protocol.Fact
		want  [2][]string // that the first agents observed so far
	}{
		{made.Name(0), dropped, [2][]string{nil, nil}},
		{setup.ActorScene, &agenda.AgentFailed{Error: "boom", Failures: 1}, [2][]string{{"restart"}, nil}},
		{setup.ActorScene, &agenda.WaveClosed{Wave: 1}, [2][]string{{"restart"}, {"event_undelivered"}}},
		{setup.ActorScene, &agenda.WaveClosed{Wave: 2}, [2][]string{{"restart"}, {"event_undelivered"}}},
	} {
		if err := fold.Apply(protocol.Record{Actor: step.actor, Kind: step.fact.FactKind()}, step.fact); err != nil {
			t.Fatal(err)
		}
		for o, want := range step.want {
			var kinds []string
			for _, x := range state.Agents[o].Observations() {
				kinds = append(kinds, x.Kind)
			}
			if !slices.Equal(kinds, want) {
				t.Errorf("after %s agent %d observed %v, want %v", step.fact.FactKind(), o, kinds, want)
			}
		}
	}
}
