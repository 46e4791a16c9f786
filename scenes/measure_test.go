package scenes

import (
	"fmt"
	"testing"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/internal/metrics"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/timing"
)

// measuredStage is as much of a scene as counting turns needs.
func measuredStage(agents int) *stage {
	set := metrics.New()
	sc := &scene{
		Scene: &setup.Scene{
			Class:       make([]uint16, agents+1),
			Definitions: []*agent.Definition{{Profile: "trader"}, {Profile: setup.ActorScene}},
		},
		metrics: set.Scene("s"), marks: timing.NewMarks(agents), profiles: []*metrics.Profile{set.Profile("trader"), nil},
	}
	sc.Class[agents] = 1
	return &stage{scene: sc, doing: timing.NewDoing(sc.doers(), sc.Class, sc.Size(), func(o uint32) metrics.AgentState {
		if o == 3 {
			return metrics.AgentGivenUp
		}
		return metrics.AgentIdle
	})}
}

func counted(d *timing.Doing) map[string]int {
	got := map[string]int{}
	d.Table.AgentStates(func(profile, state string, n int) {
		if n != 0 {
			got[profile+" "+state] = n
		}
	})
	return got
}

// Every agent is in one state, and the scene's own agent in none.
func TestAgentsByState(t *testing.T) {
	st := measuredStage(6)
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "map[trader given_up:1 trader idle:5]"},
		{func() {
			for o := range uint32(3) {
				st.measureWake(o, 1)
			}
			st.measureWake(6, 1) // the scene's own
		}, "map[trader deliberating:3 trader given_up:1 trader idle:2]"},
		{func() {
			st.measureTurn(0, &agentfact.TurnEnded{Outcome: agentfact.OutcomeOK, Wave: 1})
			st.measureTurn(1, &agentfact.TurnEnded{Outcome: agentfact.OutcomeFailed, Wave: 1, Asleep: true})
			st.measureFailure(2, false)
			st.measureTurn(6, &agentfact.TurnEnded{Outcome: agentfact.OutcomeOK, Wave: 1})
		}, "map[trader asleep:1 trader given_up:1 trader idle:3 trader restarting:1]"},
		{func() { st.measureWake(1, 2); st.measureWake(2, 2) }, "map[trader deliberating:2 trader given_up:1 trader idle:3]"},
		{func() {
			st.measureTurn(1, &agentfact.TurnEnded{Outcome: agentfact.OutcomeOK, Wave: 2, SleepUntil: 1})
			st.measureFailure(2, true)
			st.measureFailure(6, true)
		}, "map[trader asleep:1 trader given_up:2 trader idle:3]"},
	} {
		step.do()
		if got := fmt.Sprint(counted(st.doing)); got != step.want {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
}

// A mark is read by the agent that was marked, not by its neighbours.
func TestMarks(t *testing.T) {
	m := timing.NewMarks(40)
	m.Set(17)
	for o := range uint32(40) {
		if _, ok := m.Since(o); ok != (o == 17) {
			t.Errorf("agent %d has a mark: %v", o, ok)
		}
	}
	m.Set(18) // a neighbour, of a later wave
	if _, ok := m.Since(17); ok {
		t.Error("the mark of a neighbour was read")
	}
	if d, ok := m.Since(18); !ok || d < 0 {
		t.Errorf("got %v %v", d, ok)
	}
}

// What the scene's actor pays for every deliberation; the states of agents must
// stay below 50 ns.
func BenchmarkMeasureTurn(b *testing.B) {
	st := measuredStage(100_000)
	end := &agentfact.TurnEnded{Outcome: agentfact.OutcomeOK}
	b.Run("states", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			o := uint32(i) % 100_000
			st.doing.Become(o, metrics.AgentDeliberating)
			st.doing.Become(o, metrics.AgentIdle)
		}
	})
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			o := uint32(i) % 100_000
			end.Wave = uint64(i / 100_000)
			st.measureWake(o, end.Wave)
			st.measureTurn(o, end)
		}
	})
}
