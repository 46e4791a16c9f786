package bench

import (
	"fmt"
	"testing"

	"tavernsim/persistence"
)

func BenchmarkDeliberation(b *testing.B) {
	for _, agents := range []int{1_000, 100_000} {
		for _, level := range persistence.Durabilities() {
			b.Run(fmt.Sprintf("agents=%d/durability=%s", agents, level), func(b *testing.B) {
				ticks := int64(max(2, (b.N+agents-1)/agents))
				d, err := RunDeliberation(DeliberationOptions{Agents: agents, Ticks: ticks, Durability: level, Dir: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(d.NsPer, "ns/op")
				b.ReportMetric(d.PerSecond, "deliberations/s")
				b.ReportMetric(d.CPUNsPer, "cpu-ns/op")
				b.ReportMetric(d.BytesPer, "journal-B/op")
				b.ReportMetric(d.AllocsPer, "allocs/op")
				b.ReportMetric(d.AllocBytesPer, "B/op")
				b.ReportMetric(d.MemoryPerAgent, "B/agent")
			})
		}
	}
}
