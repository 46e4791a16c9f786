package sandbox

import (
	"context"

	"tavernsim/tools/sandbox/probe"
)

// Probe tries what this machine guarantees, once for a Box.
func (b *Box) Probe(ctx context.Context) probe.Report {
	r, _ := b.probed(ctx)
	return *r
}

// probed answers with the first outer stage that lacks nothing, else with the first.
// A probe that its caller cancelled is not kept.
func (b *Box) probed(ctx context.Context) (*probe.Report, outer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.report != nil {
		return b.report, b.chosen
	}
	var worse []probe.Report
	for _, o := range b.outers {
		r := b.try(ctx, o)
		if len(r.Missing()) == 0 {
			r.Others = worse
			b.report, b.chosen = &r, o
			return b.report, o
		}
		worse = append(worse, r)
	}
	r := probe.Report{Outer: "none", Failed: probe.Files, Reason: "this system has no sandbox; programs run on Linux alone"}
	if len(worse) > 0 {
		r = worse[0]
		r.Others = worse[1:]
	}
	if ctx.Err() == nil {
		b.report = &r
	}
	return &r, nil
}
