package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools/sandbox/probe"
	"tavernsim/tools/sandbox/remains"
)

// Profile names what a call needs of its sandbox.
type Profile string

// The profiles that are built.
const (
	// Strict needs every guarantee. It is the default.
	Strict Profile = "strict"
	// Net needs every guarantee, but that the program has TCP to one address: a proxy that the
	// caller serves ([Command.Proxy]).
	Net Profile = "net"
	// Wasm is Strict for a module of WebAssembly (WASI preview 1), which Argv[0] names; this
	// program runs it (tools/sandbox/wasm).
	Wasm Profile = "wasm"
)

// CheckProfile refuses profiles that are not built, and words that are none.
func CheckProfile(p Profile) error {
	switch p {
	case "", Strict, Net, Wasm:
		return nil
	case "trusted":
		return protocol.Errorf(protocol.KindUnknown, "sandbox profile %s is not built: no program runs without a sandbox; use %s, %s or %s", p, Strict, Net, Wasm)
	}
	return protocol.Errorf(protocol.KindInvalid, "there is no sandbox profile %q; use %s, %s or %s", p, Strict, Net, Wasm)
}

// Limits bound one call. Zero fields take the values of [DefaultLimits].
type Limits struct {
	Time      time.Duration // of the wall clock, then TERM, two seconds, KILL
	CPU       time.Duration // of each process of the program; whole seconds
	Memory    int64         // bytes of data of each process, and of memory in use by all together
	FileSize  int64         // bytes of one file
	Disk      int64         // bytes of each of the two folders in memory
	Files     int           // entries of each of the two folders
	Open      int           // descriptors of each process
	Processes int           // processes and threads; about eight are the worker's
	Output    int           // bytes kept of each output; the rest is read and dropped
}

// DefaultLimits are those of a call that names none.
func DefaultLimits() Limits {
	return Limits{
		Time: 30 * time.Second, CPU: 60 * time.Second, Memory: 512 << 20, FileSize: 64 << 20,
		Disk: 64 << 20, Files: 10_000, Open: 256, Processes: 64, Output: 1 << 20,
	}
}

func (l Limits) filled() Limits {
	d := DefaultLimits()
	orElse(&l.Time, d.Time)
	orElse(&l.CPU, d.CPU)
	orElse(&l.Memory, d.Memory)
	orElse(&l.FileSize, d.FileSize)
	orElse(&l.Disk, d.Disk)
	orElse(&l.Files, d.Files)
	orElse(&l.Open, d.Open)
	orElse(&l.Processes, d.Processes)
	orElse(&l.Output, d.Output)
	return l
}

func orElse[T int | int64 | time.Duration](v *T, other T) {
	if *v <= 0 {
		*v = other
	}
}

// Mount is a file or folder of the host that the program sees. If the engine is root,
// the program has the rights of the host's user 65534.
type Mount struct {
	Host   string // absolute
	Inside string // absolute, not a folder of the system
	Write  bool
}

// File is a file that the program finds in the folder Files, read-only, or in Work.
type File struct {
	Path string // below the folder, with slashes, clean
	Data []byte
	Exec bool // it can be started
	Work bool // it lies in Work, and can be changed
}

// Command is one program to run.
type Command struct {
	Profile Profile
	Argv    []string // Argv[0] is a path inside, or a name that is looked up in Path
	Env     []string // NAME=value, beside PATH, HOME, TMPDIR and LANG
	Dir     string   // inside; "" = Work
	Stdin   []byte
	// In and Out are the ends of pipes that a program which lives long has in the place of
	// Stdin and Result.Stdout; nil = it has none. The caller closes them after Run, which is
	// when the program is gone. With Out, Result.Stderr has the last bytes, not the first.
	In, Out *os.File
	// Terminal is the program's controlling terminal, in the place of its two outputs; nil =
	// it has none. The caller closes it after Run.
	Terminal *os.File
	// Proxy serves the connections of a program of the profile net. The listener is closed when
	// the program is gone; Run returns after Proxy has.
	Proxy func(net.Listener)
	// Started is told the process, of the host, below which the program and all that it
	// starts are; nil = nobody is.
	Started func(pid int)
	// Hard ends it by KILL at once when its context ends or its time is over.
	Hard   bool
	Mounts []Mount
	Files  []File
	Limits Limits
	// More reports whether calls like this one will follow; nil = none will. If so, and unless the
	// context of this call has ended, the box starts a worker for the next call: beside this call if this
	// call begins at once after another one, else at its end. The worker has nothing of any call, and ends
	// after 30 s, by [Box.Rest], or with the engine. Whoever lets More report false and then calls
	// Rest has no worker left. More must not call the box.
	More func() bool
	// Keep bounds the files that the program leaves in Work and that become Result.Files; the
	// zero value keeps none.
	Keep remains.Keep
}

// Where a program is, and where it is looked up.
const (
	Work  = "/work" // its fresh folder: empty, in memory, gone after the call
	Files = "/tool" // the files of its command
	Path  = "/usr/local/bin:/usr/bin:/bin"
)

// Output is what a program wrote.
type Output struct {
	Bytes   []byte
	Dropped int64 // bytes beyond Limits.Output
}

// Result is how a program ended.
type Result struct {
	Exit   int    // -1 = by a signal
	Signal string // its name
	End    End
	Stdout Output
	Stderr Output
	Took   time.Duration
	Files  []remains.File // new or changed in Work, by path, of a program that ended by itself; none whose name begins with a dot
	Left   int            // files for which there was no room, or whose names cannot be kept
}

// End says why a program ended.
type End string

// The ends.
const (
	Exited    End = "exited"    // by itself, or by a signal that it got
	TimedOut  End = "timeout"   // after Limits.Time
	Cancelled End = "cancelled" // with its context
	OutOfMem  End = "memory"    // all its processes together had more than Limits.Memory
	// A folder in memory had more entries than Limits.Files. Mostly the system call that
	// makes the entry fails before.
	TooManyFiles End = "files"
)

// Box runs programs in sandboxes. It can be used by many goroutines.
type Box struct {
	outers []outer // in order of preference
	system []string

	mu    sync.Mutex // guards the following field; held while a probe runs
	tried map[Profile]found

	spareMu sync.Mutex // guards the following fields
	spare   spare
	ended   time.Time // of the last call with Command.More
}

// found is what was tried for a profile.
type found struct {
	report *probe.Report
	chosen outer // nil = none gives it
}

// Options make a Box.
type Options struct {
	System []string // more files and folders of the host that every program may read, absolute
}

// New makes a Box. The first call, or [Box.Probe], tries what the machine can.
func New(o Options) *Box {
	return &Box{outers: outers(), system: append(systemPaths(), o.System...)}
}

// Unavailable refuses a call whose profile lacks a guarantee.
type Unavailable struct {
	Profile Profile
	Missing []probe.Missing
}

func (u *Unavailable) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sandbox_unavailable: profile %s lacks ", u.Profile)
	for i, m := range u.Missing {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s (%s)", m.Guarantee, m.Reason)
	}
	b.WriteString(". 'simd doctor --sandbox' says more")
	return b.String()
}

// Unwrap gives the error its kind.
func (u *Unavailable) Unwrap() error {
	return &protocol.Error{Kind: protocol.KindUnknown, Message: "sandbox_unavailable"}
}

// Run runs a program to its end. A program that fails is a Result; the error is of the
// kind unavailable if there is no sandbox, cancelled if ctx ended before there was one, not_found if there is no such program, and
// invalid for a command that cannot be run.
func (b *Box) Run(ctx context.Context, c Command) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	r, chosen := b.probed(ctx, c.profile())
	if missing := r.Missing(); len(missing) > 0 {
		return Result{}, lacks(ctx, &c, missing...)
	}
	return b.run(ctx, chosen, c)
}

// lacks refuses a call without guarantees. A call that has ended says nothing about them: what tried them ended with it.
func lacks(ctx context.Context, c *Command, missing ...probe.Missing) error {
	if ctx.Err() != nil {
		return protocol.Errorf(protocol.KindCancelled, "the call ended before its sandbox was there")
	}
	return &Unavailable{Profile: c.profile(), Missing: missing}
}

func (c *Command) profile() Profile { return cmp.Or(c.Profile, Strict) }

// check refuses what the worker would have to refuse later, with less to say.
func (c *Command) check() error {
	if err := CheckProfile(c.Profile); err != nil {
		return err
	}
	if (c.profile() == Net) != (c.Proxy != nil) {
		return protocol.Errorf(protocol.KindInvalid, "a program has a proxy in the profile %s, and there only", Net)
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return protocol.Errorf(protocol.KindInvalid, "the command is empty; name a program")
	}
	size := 0
	for _, s := range append(append([]string{c.Dir}, c.Argv...), c.Env...) {
		if strings.ContainsRune(s, 0) {
			return protocol.Errorf(protocol.KindInvalid, "a NUL byte in an argument, an environment variable or the folder of %q", c.Argv[0])
		}
		size += len(s)
	}
	if size > maxCommand {
		return protocol.Errorf(protocol.KindLimit, "arguments and environment of %q have %d bytes; at most %d are allowed", c.Argv[0], size, maxCommand)
	}
	for _, m := range c.Mounts {
		if err := m.check(); err != nil {
			return err
		}
	}
	return c.checkFiles()
}

func (c *Command) checkFiles() error {
	size, seen := 0, map[string]bool{} // by path: a file, not a folder
	for _, f := range c.Files {
		if !fs.ValidPath(f.Path) || f.Path == "." || strings.ContainsRune(f.Path, 0) || tooLong(f.Path) {
			return protocol.Errorf(protocol.KindInvalid, "the file %q must have a path below the folder of the command's files", protocol.Short(f.Path, 80))
		}
		if _, there := seen[f.Path]; there {
			return protocol.Errorf(protocol.KindInvalid, "the file %q is there twice, or as a folder of another", f.Path)
		}
		seen[f.Path] = true
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if seen[dir] {
				return protocol.Errorf(protocol.KindInvalid, "the file %q is a folder of %q too", dir, f.Path)
			}
			seen[dir] = false
		}
		size += len(f.Data) + len(f.Path)
	}
	if size > MaxFiles {
		return protocol.Errorf(protocol.KindLimit, "the files of %q have %d bytes; at most %d are allowed", c.Argv[0], size, MaxFiles)
	}
	return nil
}

func tooLong(path string) bool {
	return len(path) > 1024 || slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return len(name) > 255 })
}

const maxCommand = 128 << 10 // bytes of arguments and environment

// MaxFiles bounds the files of a command, in bytes.
const MaxFiles = 8 << 20

func (m Mount) check() error {
	for _, p := range []string{m.Host, m.Inside} {
		if !strings.HasPrefix(p, "/") || strings.ContainsRune(p, 0) {
			return protocol.Errorf(protocol.KindInvalid, "mount %q on %q: both paths must be absolute", m.Host, m.Inside)
		}
	}
	top, _, _ := strings.Cut(strings.TrimPrefix(path.Clean(m.Inside), "/"), "/")
	switch top {
	case "", "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "dev", "proc", "tmp", "work", "tool":
		return protocol.Errorf(protocol.KindInvalid, "mount %q on %q: this place belongs to the system; mount below a name of your own, like /plugin", m.Host, m.Inside)
	}
	if _, err := os.Stat(m.Host); err != nil {
		return protocol.Errorf(protocol.KindNotFound, "mount %q: %w", m.Host, err)
	}
	return nil
}
