//go:build !linux || (!amd64 && !arm64)

package sandbox

import (
	"context"
	"os"

	"tavernsim/tools/sandbox/probe"
)

type outer interface{ name() string }

func outers() []outer       { return nil }
func systemPaths() []string { return nil }

// Reexec reports that this program is no worker: there are none on this system.
func Reexec([]string) (code int, worker bool) { return 0, false }

type spare struct{}

// Rest ends nothing: no worker waits on this system.
func (*Box) Rest() {}

// HostIDs are the user and group that a program has on the host.
func HostIDs() (uid, gid int) { return os.Geteuid(), os.Getegid() }

func (b *Box) try(context.Context, outer, Profile) probe.Report { return probe.Report{} }

func (b *Box) run(context.Context, outer, Command) (Result, error) { return Result{}, nil }
