package sandbox

import (
	"context"

	"tavernsim/tools/sandbox/probe"
)

// Probe tries what this machine guarantees in a profile, once for a Box.
func (b *Box) Probe(ctx context.Context) probe.Report { return b.ProbeOf(ctx, Strict) }

// ProbeOf does it for a profile that is built.
func (b *Box) ProbeOf(ctx context.Context, p Profile) probe.Report {
	r, _ := b.probed(ctx, p)
	return *r
}

// probed answers with the first outer stage that lacks nothing, else with the first.
// A probe that its caller cancelled is not kept.
func (b *Box) probed(ctx context.Context, p Profile) (*probe.Report, outer) {
	if p == Wasm {
		p = Strict // the process that runs a module has the same walls as the probe
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if f, ok := b.tried[p]; ok {
		return f.report, f.chosen
	}
	f := b.find(ctx, p)
	if f.chosen != nil || ctx.Err() == nil {
		if b.tried == nil {
			b.tried = map[Profile]found{}
		}
		b.tried[p] = f
	}
	return f.report, f.chosen
}

func (b *Box) find(ctx context.Context, p Profile) found {
	var worse []probe.Report
	for _, o := range b.outers {
		r := b.try(ctx, o, p)
		if len(r.Missing()) == 0 {
			r.Others = worse
			return found{&r, o}
		}
		worse = append(worse, r)
	}
	r := probe.Report{Outer: "none", Failed: probe.Files, Reason: "this system has no sandbox; programs run on Linux alone"}
	if len(worse) > 0 {
		r = worse[0]
		r.Others = worse[1:]
	}
	return found{report: &r}
}
