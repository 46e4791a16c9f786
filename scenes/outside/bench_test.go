package outside_test

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"tavernsim/llm/llmtest"
	"tavernsim/persistence/persistencetest"
	"tavernsim/scenes/scenestest"
)

// BenchmarkCall runs whole deliberations whose model takes time, each call
// through the log: what a call costs, everything of its turn included.
func BenchmarkCall(b *testing.B) {
	b.ReportAllocs()
	var calls int
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := started()
	for b.Loop() {
		s := talkingScene(b)
		s.Dir = "run"
		model := &llmtest.Fake{}
		if r := s.Run(b, scenestest.Settings{FS: persistencetest.MemDisk(), Model: model, Agents: 256}); r.Err != nil {
			b.Fatal(r.Err)
		}
		calls += model.Calls()
	}
	runtime.ReadMemStats(&after)
	per := func(n uint64, unit string) { b.ReportMetric(float64(n)/float64(calls), unit) }
	per(uint64(b.Elapsed().Nanoseconds()), "ns/call")
	per(after.Mallocs-before.Mallocs, "allocs/call")
	per(after.TotalAlloc-before.TotalAlloc, "B/call")
	per(started()-began, "goroutines/call")
}

// A call that is released costs one goroutine. Those of the scene itself are few, whatever the number of calls is.
func TestACallCostsOneGoroutine(t *testing.T) {
	s := talkingScene(t)
	s.Dir = "run"
	model := &llmtest.Fake{}
	began := started()
	if r := s.Run(t, scenestest.Settings{FS: persistencetest.MemDisk(), Model: model, Agents: 256}); r.Err != nil {
		t.Fatal(r.Err)
	}
	if made, calls := started()-began, uint64(model.Calls()); calls < 2560 || made < calls || made > calls+calls/2 {
		t.Errorf("%d calls made %d goroutines", calls, made)
	}
}

// started is how many goroutines this process has made.
func started() uint64 {
	s := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
