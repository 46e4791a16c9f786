//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tavernsim/tools/sandbox/probe"
)

// probeLimits are low: the probe reaches each of them, and only by what it tries. At its end
// it has as many processes as it may, each with some 10 MiB of its own: together they must
// stay below the bound of memory, or a look at the wrong moment finds no sandbox here.
func probeLimits() Limits {
	return Limits{Time: 10 * time.Second, CPU: 10 * time.Second, Memory: 512 << 20, FileSize: 4 << 20, Disk: 8 << 20, Processes: 24, Open: 64}
}

// try runs the probe in one outer stage.
func (b *Box) try(ctx context.Context, o outer, p Profile) probe.Report {
	r := probe.Report{Outer: o.name(), Tries: []probe.Try{}}
	l := probeLimits()
	task, err := json.Marshal(probe.Task{
		Hidden: hiddenPaths(b.system), Self: selfPath, Work: Work,
		Proxy: map[Profile]string{Net: ProxyAddress}[p], Memory: int(l.Memory), FileSize: int(l.FileSize), Disk: int(l.Disk), CPU: int(l.CPU.Seconds()), Open: l.Open,
	})
	if err != nil {
		r.Failed, r.Reason = probe.Files, err.Error()
		return r
	}
	c := Command{Argv: []string{selfPath, reexecName, "probe", string(task)}, Limits: l}
	if p == Net {
		c.Profile, c.Proxy = p, greet
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

// hiddenPaths are folders and files of the host that exist and are not listed.
func hiddenPaths(listed []string) []string {
	home, _ := os.UserHomeDir()
	cwd, _ := os.Getwd()
	self, _ := os.Executable()
	var out []string
	for _, p := range []string{home, cwd, self, "/root", "/home", "/var/log", "/etc/shadow", "/etc/passwd", "/etc/hostname", "/run", "/sys", "/boot"} {
		if filepath.IsAbs(p) && exists(p) && !below(p, listed) && p != "/" && p != "/tmp" && p != "/proc" {
			out = append(out, p)
		}
	}
	return out
}

func below(p string, listed []string) bool {
	for _, l := range listed {
		if p == l || strings.HasPrefix(p, l+"/") {
			return true
		}
	}
	return false
}

// greet is a proxy that says so and no more.
func greet(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_ = c.SetDeadline(time.Now().Add(grace))
		_, _ = io.WriteString(c, probe.Greeting)
		_ = c.Close()
	}
}
