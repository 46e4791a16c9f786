package verify

import (
	"fmt"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// An agent whose inbox had no room is decided again after a turn that took everything, and not
// after one that tells that something found no room: a fold, which reads the end of that turn
// later than the live agent had it, may have dropped more meanwhile, and the fact by which it
// forgets its drops is in that very turn.
func TestAFullTurnSettlesNothing(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{Clock: agenda.Realtime})
	room := made.AgentDefinition(0).Limits.MaxInbox
	hear := func(m *agent.Machine, n int, p protocol.Priority) {
		for range n {
			m.Hear(&protocol.Envelope{EventHeader: protocol.EventHeader{ID: fmt.Sprint("e", m.State.Heard()+1), Type: "talk.word", Source: "bo", Priority: p}, Kind: protocol.KindEvent})
		}
	}
	end := func(t *testing.T, m *agent.Machine, through uint64, told bool) {
		t.Helper()
		facts := []protocol.Fact{&agentfact.TurnEnded{Turn: m.State.Turn + 1, Outcome: agentfact.OutcomeOK, Through: through}}
		if told {
			facts = append([]protocol.Fact{&agentfact.Dropped{InboxFull: 1}}, facts...)
		}
		for _, f := range facts {
			if err := m.Apply(f, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := uint64(room + 1)
	for name, c := range map[string]struct {
		play func(t *testing.T, live, fold *agent.Machine) // what befell both
		full bool
		want bool // both have the same inbox, and verify may know
	}{
		"nothing": {func(t *testing.T, live, fold *agent.Machine) {
			for _, m := range []*agent.Machine{live, fold} {
				hear(m, room, protocol.Critical)
				end(t, m, uint64(room), false)
			}
		}, false, true},
		"the fold drops what came behind the turn": {func(t *testing.T, live, fold *agent.Machine) {
			for _, m := range []*agent.Machine{live, fold} {
				hear(m, room, protocol.Critical)
				hear(m, 1, protocol.Low) // dropped by both
			}
			hear(fold, 1, protocol.Low) // and this by the fold alone
			end(t, live, all, true)
			hear(live, 1, protocol.Low)
			end(t, fold, all, true)
		}, true, false},
		"something waits": {func(t *testing.T, live, fold *agent.Machine) {
			for _, m := range []*agent.Machine{live, fold} {
				hear(m, room, protocol.Critical)
				end(t, m, uint64(room)-1, false)
			}
		}, false, false},
		"nobody has told of a drop": {func(t *testing.T, live, fold *agent.Machine) {
			hear(live, room, protocol.Critical)
			hear(fold, room, protocol.Critical)
			hear(fold, 1, protocol.Low)
			end(t, live, uint64(room), false)
			hear(live, 1, protocol.Low)
			end(t, fold, all, false)
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			state, err := machines.New(made)
			if err != nil {
				t.Fatal(err)
			}
			live, fold := made.Machine(0), state.Agents[0]
			c.play(t, live, fold)
			v := &verifier{made: made, state: state, unsure: map[uint32]bool{0: true}}
			v.settled(&turn{agent: 0, full: c.full})
			if got := !v.unsure[0]; got != c.want {
				t.Errorf("verify decides the next turn again: %v, want %v; %d events wait for the live agent, %d in the fold", got, c.want, live.State.Waiting(), fold.State.Waiting())
			}
		})
	}
}

// A fold does not know what an agent hears once its mailbox refused something: of a number of events nobody knows whose they
// were; one event is told by its receiver, but on the realtime clock a turn may have begun before.
func TestWhoIsUnsureOfWhatItHears(t *testing.T) {
	event := protocol.KindEvent.String()
	for name, c := range map[string]struct {
		letter            agenda.DeadLettered
		virtual, realtime string
	}{
		"an event":            {agenda.DeadLettered{Event: "x", Kind: event}, "", "one"},
		"events":              {agenda.DeadLettered{Kind: event, Count: 2}, "all", "all"},
		"anything":            {agenda.DeadLettered{Count: 2}, "all", "all"},
		"something else":      {agenda.DeadLettered{Kind: protocol.KindObserve.String(), Count: 1}, "", "one"},
		"what nobody reads":   {agenda.DeadLettered{Kind: event, Count: 2, Reason: agenda.ReasonGone}, "", ""},
		"an event of the one": {agenda.DeadLettered{Event: "x"}, "", "one"},
	} {
		for clock, want := range map[agenda.ClockKind]string{agenda.Virtual: c.virtual, agenda.Realtime: c.realtime} {
			made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{Clock: clock})
			state, err := machines.New(made)
			if err != nil {
				t.Fatal(err)
			}
			v := &verifier{made: made, state: state, unsure: map[uint32]bool{}}
			letter := c.letter
			letter.Receiver = made.Name(1)
			v.refused(&letter)
			if n := map[string]int{"": 0, "one": 1, "all": len(state.Agents)}[want]; len(v.unsure) != n || want == "one" && !v.unsure[1] {
				t.Errorf("%s, %s clock: unsure are %v, want %q", name, clock, v.unsure, want)
			}
		}
	}
}

// A failure stands in a wave of its own if nothing is due at its time.
func TestAFailureBetweenTwoTurnsStrays(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	state, err := machines.New(made)
	if err != nil {
		t.Fatal(err)
	}
	v := &verifier{made: made, state: state}
	at := protocol.TimeOf(made.Simulation().StartTime)
	if !v.strays(protocol.Record{Time: at}) {
		t.Error("nothing is due")
	}
	state.Agenda.Start(at)
	next, due := state.Agenda.NextTime()
	if !due {
		t.Fatal("nothing is due")
	}
	if v.strays(protocol.Record{Time: next}) || !v.strays(protocol.Record{Time: next - 1}) {
		t.Errorf("at %s agents are due, and not before", next)
	}
}
