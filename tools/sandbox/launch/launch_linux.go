//go:build amd64 || arm64

// Package launch starts a program with a limit of processor time that does not apply to the starting process,
// which syscall.ForkExec cannot do. It is for the worker of the sandbox.
//
// # Promises
//
//  1. The limit applies to the program from its first instruction, and to all its children, but not to the caller.
//  2. The program is the first process of a session of its own, and inherits the caller's descriptors without close-on-exec.
//  3. An error means that nothing of the program ran, and nothing is left.
//
// # Not here
//
// All other limits, which the program inherits (tools/sandbox).
package launch

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Program is one to start.
type Program struct {
	File      string
	Dir       string
	Argv, Env []string
	Terminal  bool           // its output is its controlling terminal
	CPU       syscall.Rlimit // seconds of each process
}

// Start starts it. The caller reaps it.
func (o *Program) Start() (pid int, err error) {
	p := &program{terminal: o.Terminal, cpu: o.CPU}
	if p.file, err = syscall.BytePtrFromString(o.File); err == nil {
		p.dir, err = syscall.BytePtrFromString(o.Dir)
	}
	if err == nil {
		p.argv, err = syscall.SlicePtrFromStrings(o.Argv)
	}
	if err == nil {
		p.env, err = syscall.SlicePtrFromStrings(o.Env)
	}
	if err != nil {
		return 0, err
	}
	return p.start()
}

// program is what a copy of this process needs to become the program.
type program struct {
	file, dir *byte
	argv, env []*byte
	terminal  bool
	cpu       syscall.Rlimit
	failed    [2]int // a pipe: the copy writes the number of the error that keeps it from that
}

func (p *program) start() (int, error) {
	if err := unix.Pipe2(p.failed[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	pid, no := p.fork()
	_ = unix.Close(p.failed[1])
	defer unix.Close(p.failed[0])
	if no != 0 {
		return 0, no
	}
	for {
		n, err := unix.Read(p.failed[0], (*[unsafe.Sizeof(no)]byte)(unsafe.Pointer(&no))[:])
		switch {
		case errors.Is(err, unix.EINTR):
		case n > 0:
			_, _ = unix.Wait4(pid, nil, 0, nil)
			return 0, no
		default: // the exec closed it
			return pid, nil
		}
	}
}

// fork makes the copy. It has one thread, and Go's runtime does not know of it: it runs no Go code but
// that of these two functions, which neither allocate nor look whether their stack is large enough.
//
//go:norace
//go:nosplit
//go:noinline
func (p *program) fork() (pid int, no syscall.Errno) {
	n, _, no := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if no != 0 || n != 0 {
		return int(n), no
	}
	no = p.become()
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(p.failed[1]), uintptr(unsafe.Pointer(&no)), unsafe.Sizeof(no))
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 1, 0, 0)
	}
}

// become returns only with an error.
//
//go:norace
//go:nosplit
//go:noinline
func (p *program) become() syscall.Errno {
	if _, _, no := syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0); no != 0 {
		return no
	}
	if _, _, no := syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(p.dir)), 0, 0); no != 0 {
		return no
	}
	if p.terminal {
		if _, _, no := syscall.RawSyscall(syscall.SYS_IOCTL, 1, syscall.TIOCSCTTY, 1); no != 0 {
			return no
		}
	}
	if _, _, no := syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CPU, uintptr(unsafe.Pointer(&p.cpu)), 0, 0, 0); no != 0 {
		return no
	}
	_, _, no := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(p.file)), uintptr(unsafe.Pointer(&p.argv[0])), uintptr(unsafe.Pointer(&p.env[0])))
	return no
}
