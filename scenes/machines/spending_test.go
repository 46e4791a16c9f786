package machines_test

import (
	"strings"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// What facts say of tools counts in their budget: the calls of a turn, a task when it is opened, and its time and
// output when it ends. What an agent does itself costs nothing.
func TestFactsOfToolsAreCharged(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	made.External = []agent.External{{Spec: protocol.ToolSpec{Name: "Dig"}, Cost: 7}}
	made.Budgets = &budget.Config{Tools: &budget.Limits{Amount: budget.Amount{Calls: 100}}, Cast: made}
	s := begin(t, made)
	name := made.Name(0)
	over := budget.ToolsAreOut
	for _, c := range []struct {
		fact    protocol.Fact
		used    budget.Amount
		refused int64
	}{
		{&tooltask.Opened{Task: tooltask.Task{ID: "1", Agent: name, Tool: "Dig"}}, budget.Amount{Calls: 1, Nano: 7}, 0},
		{&tooltask.Opened{Task: tooltask.Task{ID: "2", Agent: name, Tool: tooltask.AskTool, Kind: tooltask.KindAgent}}, budget.Amount{Calls: 1, Nano: 7}, 0},
		{&tooltask.Ended{ID: "1", Agent: name, Tool: "Dig", Latency: time.Millisecond}, budget.Amount{Calls: 1, Nano: 7, Micro: 1000}, 0},
		{&tooltask.Ended{ID: "3", Agent: name, Tool: "Dig", ErrorKind: protocol.KindLimit, Error: over}, budget.Amount{Calls: 1, Nano: 7, Micro: 1000}, 1},
		{&tooltask.Opened{Task: tooltask.Task{ID: "4", Agent: name, Tool: "Dig"}}, budget.Amount{Calls: 2, Nano: 14, Micro: 1000}, 1},
		{&tooltask.Ended{ID: "4", Agent: name, Tool: "Dig", Latency: time.Second, ErrorKind: protocol.KindDenied, Error: "no"}, budget.Amount{Calls: 2, Nano: 14, Micro: 1001000}, 1},
		{&tooltask.Uncharged{ID: "4", Agent: name, Tool: "Dig", Cost: 7, Time: time.Second}, budget.Amount{Calls: 1, Nano: 7, Micro: 1000}, 1},
		{&agentfact.TurnEnded{Turn: 1, ToolCalls: 2, ToolRefused: 3}, budget.Amount{Calls: 3, Nano: 7, Micro: 1000}, 4},
		{&agentfact.CallsCharged{Calls: 2, Time: time.Millisecond, Bytes: 5, Cost: 14}, budget.Amount{Calls: 5, Nano: 21, Micro: 2000, Bytes: 5}, 4},
	} {
		if err := s.StageState.Apply(protocol.Record{Seq: 1, Actor: machines.ActorTasks, Kind: c.fact.FactKind()}, c.fact); err != nil {
			t.Fatal(err)
		}
		if l, _ := s.Spending.Kept(); len(l) != 1 || l[0].Used != c.used || l[0].Refused != c.refused {
			t.Errorf("%T: %+v, want %s and %d refused", c.fact, l, c.used, c.refused)
		}
	}
}

// Where a budget ran out before a kill and was raised since, what it demanded is done: the scene goes on.
func TestARaisedBudgetDemandsNothing(t *testing.T) {
	for _, raised := range []bool{false, true} {
		made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
		made.External = []agent.External{{Spec: protocol.ToolSpec{Name: "Dig"}, Cost: 7}}
		made.Budgets = &budget.Config{Tools: &budget.Limits{Amount: budget.Amount{Calls: 1}, On: budget.Action{Do: budget.End}}, Cast: made}
		s := begin(t, made)
		for _, f := range []protocol.Fact{made.Started(1), &tooltask.Opened{Task: tooltask.Task{ID: "1", Agent: made.Name(0), Tool: "Dig"}}, &tooltask.Ended{ID: "3", Agent: made.Name(0), Tool: "Dig", ErrorKind: protocol.KindLimit, Error: budget.ToolsAreOut}} {
			if err := s.StageState.Apply(protocol.Record{Seq: 1, Time: 1, Actor: machines.ActorTasks, Kind: f.FactKind()}, f); err != nil {
				t.Fatal(err)
			}
		}
		if !s.Spending.Demands(budget.End) {
			t.Fatal("the budget demands nothing: nothing is tested")
		}
		stage := machines.NewStage(s.StageState, machines.StageConfig{Raised: raised}, machines.Kept{}, s.Shown())
		if _, err := stage.Decide(machines.Moment{}, &machines.Begin{}); err != nil {
			t.Fatal(err)
		}
		if got := stage.Outcome().Reason; (got == agenda.StoppedByBudget) == raised {
			t.Errorf("raised %v: the scene stops by %q", raised, got)
		}
	}
}

// A snapshot of another scene is refused with the name that is no agent's.
func TestSnapshotOfSomebodyElse(t *testing.T) {
	s := begin(t, scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{}))
	if err := s.Load("nobody", nil); protocol.KindOf(err) != protocol.KindCorrupt || !strings.Contains(err.Error(), `"nobody", which is no agent of the scene`) {
		t.Error(err)
	}
}

// Verify hears of a pause from the history: a budget that was raised since makes none, and a pause because of a budget is one that goes on.
func TestABudgetPausesNoStepwiseStage(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	made.Budgets = &budget.Config{Run: &budget.Limits{Amount: budget.Amount{Calls: 1}, On: budget.Action{Do: budget.Pause}}, Cast: made}
	s := begin(t, made)
	refused := &agentfact.ModelAnswered{Request: 1, ErrorKind: protocol.KindLimit, Error: "no", Origin: &effect.Origin{Budget: &protocol.ModelBudget{Ledger: budget.OfRun}}}
	for _, f := range []protocol.Fact{made.Started(1), refused, &agenda.WaveClosed{Wave: 1}} {
		if err := s.StageState.Apply(protocol.Record{Seq: 1, Time: protocol.TimeOf(made.Simulation().StartTime), Actor: made.Name(0), Kind: f.FactKind()}, f); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Spending.Demands(budget.Pause) {
		t.Fatal("the budget demands nothing: nothing is tested")
	}
	stage := machines.NewStage(s.StageState, machines.StageConfig{Stepwise: true, Snapshots: machines.SnapshotPolicy{Facts: 1 << 40}}, machines.Kept{Wave: 1}, s.Shown())
	decide := func(in machines.Input) (acts []machines.Act) {
		effects, err := stage.Decide(machines.Moment{}, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range effects {
			acts = append(acts, e.Act)
		}
		return acts
	}
	decide(&machines.Control{Do: machines.DoPause, Reason: machines.PausedByBudget})
	decide(&machines.Control{Do: machines.DoResume}) // before it has begun
	if acts := decide(&machines.Tick{}); s.Agenda.Paused || len(acts) == 0 || acts[0] != machines.ActWake {
		t.Errorf("paused %v: %v", s.Agenda.Paused, acts)
	}
}
