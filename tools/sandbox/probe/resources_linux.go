//go:build amd64 || arm64

package probe

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tavernsim/tools/sandbox/cores"
)

func (p *prober) resources() {
	p.buffers()
	p.uncounted()
	l := p.Task
	size := l.Memory + 1<<20
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		_ = unix.Munmap(m)
	}
	p.refused(Resources, fmt.Sprintf("%d MiB of data", size>>20), err)
	f, err := os.Create("big")
	if err == nil {
		err = f.Truncate(int64(l.FileSize) + 1)
		f.Close()
	}
	p.refused(Resources, "a large file", err)
	p.refused(Resources, "fill the folder", fill(l.Disk/l.FileSize+1, l.FileSize))
	for _, r := range []struct {
		what  string
		which int
		most  uint64
	}{
		{"raise the limit of processor time", unix.RLIMIT_CPU, uint64(l.CPU)},
		{"raise the limit of descriptors", unix.RLIMIT_NOFILE, uint64(l.Open)},
		{"raise the limit of cores", unix.RLIMIT_CORE, cores.Limit},
		{"raise the limit of data", unix.RLIMIT_DATA, uint64(l.Memory)},
		{"raise the limit of timers", unix.RLIMIT_SIGPENDING, Timers},
	} {
		p.refused(Resources, r.what, unix.Setrlimit(r.which, &unix.Rlimit{Cur: r.most + 1, Max: r.most + 1}))
	}
}

// uncounted tries to have memory that no limit bounds and nobody counts.
func (p *prober) uncounted() {
	shared := func(fd, flags int) error {
		m, err := unix.Mmap(fd, 0, 1, unix.PROT_READ, flags)
		if err == nil {
			_ = unix.Munmap(m)
		}
		return err
	}
	p.refused(Resources, "shared memory without a file", shared(-1, unix.MAP_SHARED|unix.MAP_ANON))
	zero, err := unix.Open("/dev/zero", unix.O_RDONLY, 0)
	if err == nil {
		err = shared(zero, unix.MAP_SHARED)
		unix.Close(zero)
	}
	p.refused(Resources, "shared memory of a device", err)
	p.refused(Resources, "asynchronous I/O, which all programs of the machine share", call(unix.SYS_IO_SETUP, 1, 0, 0, 0))
	p.refused(Resources, "filters without a limit", call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0, 0))
	err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0)    // the kernel would say EFAULT
	p.holds(Resources, "filters by prctl", err == unix.EINVAL, fmt.Sprint(err)) //nolint:errorlint // an error number
}

// fill writes files into the fresh folder and takes them away again.
func fill(count, size int) (err error) {
	block := make([]byte, size)
	for i := range count {
		name := "full" + strconv.Itoa(i)
		defer os.Remove(name)
		if err = os.WriteFile(name, block, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (p *prober) lifetime() {
	_ = unix.Kill(1, unix.SIGSTOP)
	_ = unix.Kill(1, unix.SIGKILL)
	stat, err := os.ReadFile("/proc/1/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	p.holds(Lifetime, "stop or kill process 1", err == nil && rest != "" && !strings.ContainsAny(rest[:1], "TZX"), rest[:min(1, len(rest))])
	parent, err := os.ReadFile("/proc/self/stat")
	_, rest, _ = strings.Cut(string(parent), ") ")
	fields := strings.Fields(rest)
	p.holds(Lifetime, "have another parent than process 1", err == nil && len(fields) > 1 && fields[1] == "1", fmt.Sprint(len(fields)))
}

func (p *prober) descriptors() {
	var open []string
	for fd := 3; fd < 256; fd++ {
		var s unix.Stat_t
		if unix.Fstat(fd, &s) == nil && !ours(fd) {
			open = append(open, strconv.Itoa(fd))
		}
	}
	p.holds(Descriptors, "use descriptors of the engine", len(open) == 0, strings.Join(open, " "))
	p.refused(Descriptors, "open the terminal", readErr("/dev/tty"))
	for fd := range 3 {
		_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		p.refused(Descriptors, "a terminal as descriptor "+strconv.Itoa(fd), err)
	}
	p.refused(Descriptors, "type into a terminal", call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0, 0))
	pid, _, _ := unix.Syscall(unix.SYS_GETSID, 0, 0, 0)
	p.holds(Descriptors, "share the session", int(pid) == os.Getpid(), "session "+strconv.Itoa(int(pid)))
}

// ours reports whether a descriptor belongs to this program's runtime.
func ours(fd int) bool {
	link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	return err == nil && (strings.HasPrefix(link, "anon_inode:") || strings.HasPrefix(link, "/sys/fs/cgroup"))
}

// forks starts children that wait, until one is refused; then it kills and reaps them all.
// In between no thread can be started either, and Go's runtime ends a program whose thread is
// refused: nothing here may give it a reason to start one, be it a collection, a second
// processor, or a system call that gives the processor away. The dead count until they are reaped.
func (p *prober) forks() {
	const most = 300
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	n, no := 0, syscall.Errno(0)
	for ; n < most; n++ {
		if no = forkWaiting(); no != 0 {
			break
		}
	}
	everybody := -1
	_, _, _ = syscall.RawSyscall(syscall.SYS_KILL, uintptr(everybody), uintptr(syscall.SIGKILL), 0)
	for left := syscall.Errno(0); left == 0 || left == syscall.EINTR; {
		_, _, left = syscall.RawSyscall6(syscall.SYS_WAIT4, uintptr(everybody), 0, 0, 0, 0, 0)
	}
	p.holds(Forks, "start "+strconv.Itoa(most)+" processes", n < most, fmt.Sprintf("%d started", n))
}

// forkWaiting starts a child that waits for a signal. The child runs no Go code but these
// lines: it has one thread only, and the runtime does not know it.
//
//go:norace
func forkWaiting() syscall.Errno {
	pid, _, no := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if no == 0 && pid == 0 {
		for {
			_, _, _ = syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	return no
}
