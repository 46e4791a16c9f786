package metrics

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
)

// Promise 1: counting allocates nothing, also beyond the bound.
func TestCountingAllocatesNothing(t *testing.T) {
	s := New()
	sc := s.Scene("tavern")
	for name, count := range hotPath(sc) {
		count()
		if n := testing.AllocsPerRun(100, count); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	for i := range MaxValues {
		s.Fact(fmt.Sprint(i), 1)
	}
	if n := testing.AllocsPerRun(100, func() { s.Fact("one too many", 1) }); n != 0 {
		t.Errorf("beyond the bound: %v allocations", n)
	}
}

// hotPath is what a scene counts for every deliberation and every fact.
func hotPath(sc *Scene) map[string]func() {
	trader := sc.Profile("herbalist_apprentice")
	table := NewAgentTable([]string{"trader"})
	answer := protocol.ModelAnswer{Usage: protocol.Usage{Input: 100, Output: 20}}
	return map[string]func(){
		"Fact":                func() { sc.Fact(agentfact.FactTurnEnded, 1) },
		"Deliberated":         func() { sc.Deliberated("herbalist_apprentice", "ok") },
		"Profile.Deliberated": func() { trader.Deliberated("ok") },
		"Published":           func() { sc.Published("market.offer.made", SourceAgent, 3) },
		"Dropped":             func() { sc.Dropped("loop") },
		"Called":              func() { sc.Called("RequestWorldStateUpdateTool", "requested", 1) },
		"WorldApplied":        func() { sc.WorldApplied("set") },
		"AgentTable.Move":     func() { table.Move(0, AgentIdle, AgentDeliberating, 1) },
		"Took":                func() { sc.Took("herbalist_apprentice", 23*time.Microsecond) },
		"Stage":               func() { sc.Stage(StageDecide, 23*time.Microsecond) },
		"Model": func() {
			sc.Model("scripted", "small", "ok", 23*time.Microsecond, &answer)
		},
	}
}

// The cost of counting; a counter must stay below 30 ns.
func BenchmarkCount(b *testing.B) {
	calls := hotPath(New().Scene("tavern"))
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		b.Run("call="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				calls[name]()
			}
		})
	}
}

// The same from all processors at once: what counting costs when the cache line
// of a counter travels.
func BenchmarkCountParallel(b *testing.B) {
	sc := New().Scene("tavern")
	for _, name := range []string{"Deliberated", "Fact", "Took"} {
		count := hotPath(sc)[name]
		b.Run("call="+name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					count()
				}
			})
		})
	}
}

// A scrape of a scene of 100,000 agents: what it costs to ask 100,000 mailboxes.
func BenchmarkScrape(b *testing.B) {
	s := New()
	exercise(b, s)
	s.Watch(Sources{Mailboxes: crowd{}})
	for b.Loop() {
		if _, err := s.Registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}

type crowd struct{}

func (crowd) MailboxDepths(yield func(kind, lane string, n int)) {
	for range 100_000 {
		yield(KindAgent, "wake", 1)
	}
}
