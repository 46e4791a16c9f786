package bench

import (
	"fmt"

	"tavernsim/internal/terminal"
)

// Text shows a run and its limits to people.
func Text(d Deliberation, l Limits) string {
	row := func(name, format string, args ...any) string {
		return fmt.Sprintf("  %-24s %s\n", name, fmt.Sprintf(format, args...))
	}
	syncs := ""
	if d.Syncs > 0 {
		syncs = row("syncs", "%s, %s facts each", terminal.Thousands(d.Syncs), terminal.Thousands(int64(d.PerSync)))
	}
	return fmt.Sprintf("%s agents, %s deliberations, durability %s\n", terminal.Thousands(int64(d.Agents)), terminal.Thousands(d.Deliberations), d.Durability) +
		row("throughput", "%s deliberations/s in %.2fs", terminal.Thousands(int64(d.PerSecond)), d.WallSeconds) +
		row("one deliberation", "%.1f µs wall  %.1f µs CPU  %.0f allocations  %s allocated", d.NsPer/1e3, d.CPUNsPer/1e3, d.AllocsPer, terminal.Size(d.AllocBytesPer)) +
		row("journal", "%.0f bytes and %.1f facts each", d.BytesPer, l.FactsPer) +
		d.Serial.text(row) +
		syncs +
		row("latency", "p50 %s  p99 %s", terminal.Brief(d.P50), terminal.Brief(d.P99)) +
		row("memory", "%s at the peak", perAgent(d.MemoryPerAgent)) +
		httpText(d.HTTP, row) +
		"limits in the same run, in CPU time\n" +
		row("bare Proto.Actor send", "%.0f ns   (ours: %.0f ns)", l.ProtoActorSend, l.Send) +
		row("msgpack round trip", "%.0f ns", l.RoundTrip) +
		row("bare Pebble, per fact", "%.0f ns of %.0f bytes", l.PebbleFact, l.FactBytes) +
		row("floor", "%.1f µs: two sends, a round trip, the facts; a deliberation takes %.1f times that", l.Floor/1e3, l.Ratio)
}

// httpText are the lines about a run over HTTP.
func httpText(h *HTTP, row func(name, format string, args ...any) string) string {
	switch {
	case h == nil:
		return ""
	case h.Latency > 0:
		return row("over HTTP", "%s at once, %s resident at the peak, %.2f times the server's own time; a bare client: %.2f times", terminal.Thousands(int64(h.AtOnce)), terminal.Size(float64(h.Resident)), h.Stretch, h.BareStretch)
	}
	return row("over HTTP", "a bare client: %s requests/s, %.1f µs CPU; a deliberation takes %.1f times that", terminal.Thousands(int64(h.BarePerSecond)), h.BareCPUNsPer/1e3, h.CPUToBare)
}
