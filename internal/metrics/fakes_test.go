package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/script"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/space"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/persistence"
	"tavernsim/protocol"
)

// fakes yields what a running scene would.
type fakes struct {
	store persistence.Metrics
	gates []*gate.Gate
}

func (fakes) MailboxDepths(yield func(kind, lane string, n int)) {
	yield(KindAgent, "wake", 2)
	yield(KindAgent, "wake", 3)
	yield("world", "control", 1)
	yield("intruder", "wake", 7)
}

func (f fakes) ModelGates() []*gate.Gate { return f.gates }

func (fakes) TaskStates(yield func(state string, n int)) {
	yield(TaskOut, 4)
	yield(TaskOverdue, 1)
	yield(TaskOut, 2)
}

func (fakes) WorldBytes() int { return 512 }

func (fakes) Seats() (seated, passive int, bytes int64) { return 7, 8, 90 }

func (fakes) WideBudgets() []budget.Line {
	limits := func(tokens, calls, nano int64) budget.Limits {
		return budget.Limits{Amount: budget.Amount{Tokens: tokens, Calls: calls, Nano: nano}}
	}
	return []budget.Line{
		{Kept: budget.Kept{Name: budget.OfRun, Used: budget.Amount{Tokens: 60, Nano: 1_500_000_000}}, Limits: limits(100, 0, 6_000_000_000), Reserved: budget.Amount{Tokens: 10}},
		{Kept: budget.Kept{Name: budget.OfScene, Used: budget.Amount{Micro: 500_000, Bytes: 24}}, Limits: budget.Limits{Amount: budget.Amount{Micro: 2_000_000, Bytes: 1024}}},
		{Kept: budget.Kept{Name: budget.OfEndpoint + "cloud", Used: budget.Amount{Calls: 9}}, Limits: limits(0, 8, 0)},
		{Kept: budget.Kept{Name: budget.OfEndpoint + "local", Used: budget.Amount{Calls: 9}}}, // counts only
	}
}

func (fakes) People() (int, int) { return 3, 2 }

func (fakes) Pending() uint64 { return 11 }

func (f *fakes) Metrics() persistence.Metrics { return f.store }

// idle is a caller that does nothing.
type idle struct{}

func (idle) Released(limit.Class) {}

func (idle) Refused(error) {}

// exercise counts into every metric there is (TestEveryMetricCounts).
func exercise(tb testing.TB, s *Set) {
	tb.Helper()
	sc := s.Scene("tavern")
	sc.Declare(Declared{
		Profiles: []string{"trader"}, EventTypes: []string{"offer.made"}, Tools: []string{"PublishEventTool"}, KBs: []string{"lore"},
		Provider: "scripted", Models: []string{"small"}, Services: []string{"world", "knowledge", "events"},
	})
	sc.Became(SceneRunning)
	sc.CouldNot(ScenePaused)
	sc.Deliberated("trader", string(agentfact.OutcomeOK))
	sc.Took("trader", time.Millisecond)
	sc.ToolBegan()
	sc.ToolBegan()
	sc.ToolAgain("near", "transient")
	sc.ToolEnded(&ToolCall{Tool: "near", Runtime: "script", Outcome: "ok", Took: time.Second, Cut: true})
	sc.ToolBegan()
	sc.ToolEnded(&ToolCall{Tool: "near", Outcome: "denied", Denied: DeniedByTool})
	sc.MCPRequest(MCPClient, "initialize", "timeout")
	sc.MCPRequest(MCPServer, "initialize", "ok")
	sc.MCPRequest(MCPServer, "ping", "ok")
	sc.Misread("block 1: line 2, col 1: orphan_param: received x")
	sc.Misread("toolsxml: line 2, col 1: unknown_tool: received x")
	sc.Misread("no answer")
	sc.ToolBegan()
	sc.ToolEnded(&ToolCall{Tool: "far", Outcome: "denied", Denied: DeniedByGrant})
	sc.ToolMasked(MaskedWithheld)
	sc.ToolProgress("near")
	sc.ServiceFailed("sea/tides")
	for by, allowed := range map[string]bool{"policy": false, "file": true, "person": false, "service": false, "silence": false} {
		sc.Judged(allowed, by)
	}
	sc.Judged(true, "policy")
	sc.Profile("trader").Reflected(true)
	for st := range stageCount {
		sc.Stage(st, time.Microsecond)
	}
	for _, p := range []string{PhaseTurns, PhaseKeep} {
		sc.Phase(p, time.Millisecond)
	}
	sc.Failed("trader", true)
	sc.ActorFailed("$world")
	sc.ActorGivenUp("$events")
	sc.Published("offer.made", SourceAgent, 3)
	sc.Dropped(string(bus.ReasonLoop))
	sc.FilterFailed(false)
	sc.FilterFailed(true)
	sc.Held(string(bus.ReasonDebounced), 2)
	sc.Blocked()
	sc.PublishersWait(3)
	sc.Called("PublishEventTool", string(protocol.CallOK), 1)
	sc.KnowledgeWritten("lore", "written")
	sc.WorldCommitted()
	sc.WorldApplied("set")
	sc.WorldRefused("add", "conflict")
	sc.WorldRefused("put", "denied")
	sc.WorldTook(time.Millisecond)
	for _, f := range []protocol.Fact{
		&space.SetOut{}, &space.Moved{Steps: protocol.Encode([]any{int64(0), int64(1), int64(1), int64(1), int64(2), int64(2)})},
		&space.Stopped{Reason: space.ReasonArrived}, &space.Put{}, &space.Refused{},
	} {
		sc.Kept(f)
	}
	for _, f := range []protocol.Fact{
		&script.Entered{}, &script.Set{}, &script.Fired{}, &script.Failed{}, &script.Opened{}, &script.Answered{}, &script.Refused{},
		&script.Closed{Why: script.ClosedByShare}, &script.Outcome{},
	} {
		sc.Kept(f)
	}
	for _, f := range []protocol.Fact{&turns.Began{}, &turns.Granted{Agents: []uint32{1, 2}, Turns: 3}, &turns.Forfeited{Agents: []uint32{2}}, &turns.Stalled{}, &turns.Ended{}} {
		sc.Kept(f)
	}
	for _, f := range []protocol.Fact{&travel.Departed{}, &travel.Departed{}, &travel.Reached{}, &travel.Returned{}, &travel.Arrived{}, &travel.TurnedAway{}} {
		sc.Kept(f)
	}
	sc.Kept(&agenda.Spawned{})
	sc.Kept(&agenda.Removed{})
	for _, f := range []protocol.Fact{
		&tooltask.Ended{Tool: tooltask.PanelTool, Status: "ok", Output: protocol.Encode(map[string]any{"by": "ada"})},
		&tooltask.Ended{Tool: tooltask.PanelTool, Status: "ok", Output: protocol.Encode(map[string]any{"by": tooltask.ByHeadless})},
		&tooltask.Ended{Tool: tooltask.PlayTool, Status: "timeout"}, &tooltask.Ended{Tool: "tides", Status: "ok"},
		&tooltask.Cancelled{Tool: tooltask.PanelTool}, &tooltask.Cancelled{Tool: "tides"},
	} {
		sc.Kept(f)
	}
	sc.Ordered("event", OrderDone)
	sc.Ordered("world", OrderRefused)
	sc.OrderFailed(&agenda.Intervened{Do: protocol.Encode([]any{map[string]any{"goal": map[string]any{}}})}, protocol.Errorf(protocol.KindTransient, "x"))
	sc.OrderFailed(&agenda.Intervened{Do: protocol.Encode([]any{map[string]any{"dance": map[string]any{}}})}, protocol.Errorf(protocol.KindInvalid, "x"))
	sc.WaveClosed(time.Millisecond, 60e9)
	sc.WaveClosed(time.Millisecond, 120e9)
	sc.Model("scripted", "small", "ok", 20*time.Millisecond, &protocol.ModelAnswer{Usage: protocol.Usage{Input: 10, Output: 5}})
	sc.Model("scripted", "small", "ok", 20*time.Millisecond, &protocol.ModelAnswer{
		Usage: protocol.Usage{Input: 10, CacheWrite: 4}, Origin: &protocol.ModelOrigin{Endpoint: "cloud", Priced: true, Cost: 2_500_000_000, FirstChunk: time.Second},
	})
	sc.Model("scripted", "small", "ok", 20*time.Millisecond, &protocol.ModelAnswer{Origin: &protocol.ModelOrigin{Endpoint: "cloud", Cost: 0}})
	sc.Model("scripted", "small", "ok", 20*time.Millisecond, &protocol.ModelAnswer{
		Usage: protocol.Usage{Input: 10}, Origin: &protocol.ModelOrigin{Endpoint: "cloud", Priced: true, Cost: 1_000_000_000, Reused: true},
	})
	sc.Waited("model", "cloud", limit.Urgent, 2*time.Second)
	sc.Repeated("model", "cloud", llm.OutcomeRateLimited)
	sc.Served(&llm.Served{Model: "big", By: llm.ByLLM, Audit: llm.Differed})
	sc.Elsewhere("", llm.OutcomeTimeout)
	sc.Effect("tool", "answered")
	sc.Ahead("used", 3)
	sc.Fact(agenda.FactWaveClosed, 1)
	s.DeadLetter(protocol.KindEvent)
	s.Replayed(100)
	s.Diverged()
	s.Scene("cellar").Forget()
	s.JournalFailed()
	j := Journal{Set: s, Sync: persistence.Power}
	j.BlockStored("tavern", 100, 4000, 900)
	j.WaveKept("tavern", persistence.Wave{}, time.Millisecond, 2*time.Millisecond)
	j.Waited("tavern", time.Second)
	j.SnapshotSaved("tavern", 4096, time.Second, nil)
	j.SnapshotSaved("tavern", 0, time.Second, errors.New("no space"))
	s.Ready()
	watch(tb, s)
}

func watch(tb testing.TB, s *Set) (stop func()) {
	table := NewAgentTable([]string{"trader"})
	table.Add(0, AgentIdle, 10)
	table.Move(0, AgentIdle, AgentDeliberating, 4)
	f := &fakes{store: persistence.Metrics{
		DiskUsage: 1 << 20, ReadAmplification: 3, LevelFiles: []int64{1, 0, 2}, LevelBytes: []int64{10, 0, 20}, CompactionDebt: 5, MemTables: 6,
		Compactions: 7, CompactedBytes: 8, Flushes: 9, FlushedBytes: 10, WALWritten: 11, CacheHits: 12, CacheMisses: 13, WriteStalls: 14, WriteStallTime: 15 * time.Second, WALSyncs: 16,
	}}
	g := gate.New("cloud", limit.Options{Concurrency: 4, Fixed: true, Requests: 600})
	for i := range 13 {
		c := &limit.Call{Owner: idle{}}
		if i == 12 {
			c.Class = limit.Background
		}
		g.Enter(c, 0, time.Hour)
	}
	f.gates = []*gate.Gate{g}
	s.Watch(Sources{Models: f}) // two scenes share the gate
	return s.Watch(Sources{Mailboxes: f, Seats: f, Agents: table, Models: f, Budgets: f, Tasks: f, People: f, World: f, Journal: f, Store: f, Plugins: func() map[string]int { return map[string]int{PluginOn: 2, PluginBroken: 1} }, Dir: tb.TempDir()})
}

// gathered are the samples by "name{label=value,...}"; of a histogram its count
// and sum.
func gathered(tb testing.TB, g prometheus.Gatherer) map[string]float64 {
	tb.Helper()
	families, err := g.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			at := func(suffix string) string { return f.GetName() + suffix + "{" + strings.Join(labels, ",") + "}" }
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				out[at("")] = m.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				out[at("")] = m.GetGauge().GetValue()
			case dto.MetricType_HISTOGRAM:
				out[at("_count")] = float64(m.GetHistogram().GetSampleCount())
				out[at("_sum")] = m.GetHistogram().GetSampleSum()
			}
		}
	}
	return out
}

func expect(t *testing.T, g prometheus.Gatherer, want map[string]float64) {
	t.Helper()
	got := gathered(t, g)
	for name, v := range want {
		if g, ok := got[name]; !ok || g != v {
			t.Errorf("%s = %v (there: %v), want %v", name, g, ok, v)
		}
	}
}

type slow struct{ entered, leave chan struct{} }

func (s *slow) WorldBytes() int {
	close(s.entered)
	<-s.leave
	return 1
}
