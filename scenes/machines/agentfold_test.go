package machines_test

import (
	"slices"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/bus"
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

// What an interrupted agent had perceived comes back behind the events of the wave that interrupts it, as the live
// agent is told: a full inbox drops nothing for it.
func TestAFoldInterruptsLast(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	m := begin(t, made).Agents[0]
	def := *m.Def
	def.Limits.MaxInbox, def.Limits.Interrupt = 1, profile.Interrupting{On: true, By: protocol.High, Then: profile.ThenRetry}
	m.Def = &def
	m.Hear(&protocol.Envelope{EventHeader: protocol.EventHeader{ID: "e1"}, Kind: protocol.KindEvent})
	fold := machines.AgentFold{Scene: made, Machine: func(o uint32) *agent.Machine {
		if o > 0 {
			return nil
		}
		return m
	}}
	for _, f := range []protocol.Fact{
		&agentfact.TurnEnded{Turn: 1, Wave: 1, Through: 1, Perceived: 1, Outcome: agentfact.OutcomeOK, Elapsed: 5 * time.Second},
		&agenda.WaveClosed{Wave: 1},
		&bus.Routed{EventHeader: protocol.EventHeader{ID: "e2", Priority: protocol.High}, Seq: 1, Receivers: bus.Ranges{{From: 0, Count: 1}}},
		&agenda.Interrupted{Agent: 0},
		&agenda.WaveClosed{Wave: 2},
	} {
		if err := fold.Apply(protocol.Record{Actor: made.Name(0), Kind: f.FactKind()}, f); err != nil {
			t.Fatal(err)
		}
	}
	if n := m.State.Waiting(); n != 2 {
		t.Errorf("%d events wait, want 2", n)
	}
}

// A failure of an agent counts for what it must acknowledge, in a fold as in the live agent.
func TestAFoldCountsAFailure(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	state := begin(t, made)
	var raws [2]protocol.Raw
	for o := range raws {
		m := state.Agents[o]
		m.Hear(&protocol.Envelope{EventHeader: protocol.EventHeader{ID: "e1", RequiresAck: true}, Kind: protocol.KindEvent})
		if o == 0 {
			fold := machines.AgentFold{Scene: made, Machine: state.Agent}
			f := &agenda.AgentFailed{Agent: 0, Error: "boom", Failures: 1}
			if err := fold.Apply(protocol.Record{Actor: setup.ActorScene, Kind: f.FactKind()}, f); err != nil {
				t.Fatal(err)
			}
		} else {
			m.Failed(agent.Observation{Kind: "restart", Value: map[string]any{"error": "boom", "failures": int64(1)}})
		}
		m.State.Goals = nil
		var err error
		if raws[o], err = agent.Snapshot(machines.NewCodec(), &m.State); err != nil {
			t.Fatal(err)
		}
	}
	if string(raws[0]) != string(raws[1]) {
		t.Errorf("folded %x, live %x", raws[0], raws[1])
	}
}

// A fold gives an event the wave that routed it: what comes late, of an earlier wave, goes before it.
func TestAFoldKnowsTheWave(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	state := begin(t, made)
	fold := machines.AgentFold{Scene: made, Machine: state.Agent}
	for _, f := range []protocol.Fact{
		&bus.Routed{EventHeader: protocol.EventHeader{ID: "e2"}, Seq: 2, Receivers: bus.Ranges{{From: 0, Count: 1}}},
		&agenda.WaveClosed{Wave: 2},
	} {
		if err := fold.Apply(protocol.Record{Actor: setup.ActorScene, Kind: f.FactKind()}, f); err != nil {
			t.Fatal(err)
		}
	}
	m := state.Agents[0]
	m.Hear(&protocol.Envelope{EventHeader: protocol.EventHeader{ID: "e1", Priority: protocol.High}, Kind: protocol.KindEvent, Wave: 1})
	if n := m.State.LastHeard(protocol.Normal); n != 2 {
		t.Errorf("the event of the second wave is number %d, want 2", n)
	}
}

// A fold gives each receiver an event as the live channel does: with the priority that a mark gives it, and not at all
// to one whose mailbox refused it, in that wave. It tells publishers at the time at which the wave was closed.
func TestAFoldDeliversAsTheChannelDoes(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	state := begin(t, made)
	fold := machines.AgentFold{Scene: made, Machine: state.Agent}
	both := bus.Ranges{{From: 0, Count: 2}}
	apply := func(at protocol.Time, actor string, facts ...protocol.Fact) {
		t.Helper()
		for _, f := range facts {
			if err := fold.Apply(protocol.Record{Time: at, Actor: actor, Kind: f.FactKind()}, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	apply(1, setup.ActorScene,
		&bus.Routed{EventHeader: protocol.EventHeader{ID: "e1", Priority: protocol.High}, Seq: 1, Receivers: both, Marks: []bus.Mark{{Agent: made.Name(1), Reason: bus.ReasonLoop, Action: bus.LoopDeprioritize}}},
		&agenda.WaveClosed{Wave: 1})
	if a, b := state.Agents[0].State.LastHeard(protocol.High), state.Agents[1].State.LastHeard(protocol.Low); a != 1 || b != 1 {
		t.Errorf("the event is number %d of the first agent and %d of the one for whom it has a low priority, want 1 and 1", a, b)
	}
	again := &bus.Routed{EventHeader: protocol.EventHeader{ID: "e2"}, Seq: 2, Receivers: both}
	apply(2, setup.ActorScene, again, &agenda.DeadLettered{Event: "e2", Receiver: made.Name(0), Reason: "queue_full"}, &agenda.WaveClosed{Wave: 2})
	for o, want := range []int{1, 2} {
		if got := state.Agents[o].State.Waiting(); got != want {
			t.Errorf("%d events wait for agent %d, want %d: the mailbox of one refused the second", got, o, want)
		}
	}
	apply(3, setup.ActorScene, again, &agenda.WaveClosed{Wave: 3})
	if got := state.Agents[0].State.Waiting(); got != 2 {
		t.Errorf("%d events wait for an agent to which the second was sent again, want 2", got)
	}
	dropped := &agentfact.Dropped{QueueFull: 1, Events: []agentfact.Drop{{Event: "e1", Source: made.Name(1), Reason: agentfact.DropQueueFull}}}
	apply(4, made.Name(0), dropped)
	apply(5, setup.ActorScene, &agenda.WaveClosed{Wave: 4})
	if list := state.Agents[1].Observations(); len(list) != 1 || list[0].Time != 5 {
		t.Errorf("the publisher observes %+v, want one thing at the end of the wave", list)
	}
}
