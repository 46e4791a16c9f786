//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"tavernsim/tools/sandbox/door"
	"tavernsim/tools/sandbox/probe"
)

// probeLimits are low: the probe reaches each of them, and only by what it tries. At its end
// it has as many processes as it may, each with some 10 MiB of its own: together they must
// stay below the bound of memory, or a look at the wrong moment finds no sandbox here. Its time alone is long: a
// busy machine is slow, and a probe that was stopped finds no sandbox.
func probeLimits() Limits {
	return Limits{Time: 30 * time.Second, CPU: 10 * time.Second, Memory: 512 << 20, FileSize: 4 << 20, Disk: 8 << 20, Processes: 24, Open: 64}
}

// try runs the probe in one outer stage.
func (b *Box) try(ctx context.Context, o outer, p Profile) probe.Report {
	r := probe.Report{Outer: o.name(), Tries: []probe.Try{}}
	l := probeLimits()
	task, err := json.Marshal(probe.Task{
		Hidden: probe.HiddenPaths(b.system), Self: selfPath, Work: Work,
		Proxy: map[Profile]string{Net: door.Address}[p], Memory: int(l.Memory), FileSize: int(l.FileSize), Disk: int(l.Disk), CPU: int(l.CPU.Seconds()), Open: l.Open,
	})
	if err != nil {
		r.Failed, r.Reason = probe.Files, err.Error()
		return r
	}
	c := Command{Argv: []string{selfPath, reexecName, "probe", string(task)}, Limits: l}
	if p == Net {
		c.Profile, c.Proxy = p, probe.Greet
	}
	var more []bind
	if self, err := os.Executable(); err == nil {
		more = append(more, bind{Source: self, Target: selfPath})
	}
	got, err := b.start(ctx, o, c, more)
	var f *failure
	switch {
	case errors.As(err, &f):
		r.Failed, r.Reason = f.missing.Guarantee, f.missing.Reason
	case err != nil:
		r.Failed, r.Reason = probe.Files, err.Error()
	case got.End != Exited || got.Exit != 0:
		r.Failed, r.Reason = probe.Lifetime, fmt.Sprintf("the probe ended badly (%s, exit %d %s): %.400s", got.End, got.Exit, got.Signal, got.Stderr.Bytes)
	default:
		if err := json.Unmarshal(got.Stdout.Bytes, &r.Tries); err != nil {
			r.Failed, r.Reason = probe.Files, "the probe said nothing that can be read: "+err.Error()
		}
	}
	return r
}
