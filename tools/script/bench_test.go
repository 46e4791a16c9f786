package script

import (
	"bytes"
	"os/exec"
	"slices"
	"testing"
	"time"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
)

// BenchmarkCall is a script that copies its parameters, beside the same program without a
// sandbox; both take turns. more-ms is the median of the differences, x-bare of the ratios.
// After a pause the worker that was started ahead is ready; without one it is being started.
func BenchmarkCall(b *testing.B) {
	for name, pause := range map[string]time.Duration{"pause=0s": 0, "pause=50ms": 50 * time.Millisecond} {
		b.Run(name, func(b *testing.B) { calls(b, pause) })
	}
}

func calls(b *testing.B, pause time.Duration) {
	x, tool := executor(b), script(b, "cat")
	tool.Execution.Repeat = manifest.Free
	var more, ratios []float64
	for b.Loop() {
		begun := time.Now()
		c := exec.Command("cat")
		c.Stdin = bytes.NewReader([]byte("{}\n"))
		if _, err := c.Output(); err != nil {
			b.Fatal(err)
		}
		bare := time.Since(begun)
		begun = time.Now()
		if r := tools.Run(b.Context(), x, &tools.Call{Tool: tool, Key: "k"}, tools.Options{}); r.Status != tools.OK {
			b.Fatal(r.Error)
		}
		own := time.Since(begun)
		more, ratios = append(more, float64(own-bare)/1e6), append(ratios, float64(own)/float64(bare))
		<-time.After(pause)
	}
	b.ReportMetric(median(more), "more-ms")
	b.ReportMetric(median(ratios), "x-bare")
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
