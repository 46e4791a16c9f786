//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"tavernsim/tools/sandbox/probe"
)

// lookEvery is how often process 1 looks at memory and files, in milliseconds.
const lookEvery = 20

// watch is process 1 of the namespace: it reaps, passes the end on, and looks at what all
// processes have together. It starts no thread and hardly allocates, so a
// program that took every process it may have cannot stop it. When it returns, the worker
// ends, and with it everything in the namespace.
func (j *job) watch(pid int) status {
	// Its own copies would keep the outputs open after the program closed them.
	for fd := range 3 {
		_ = unix.Close(fd)
	}
	look := looker{limits: j.Limits, buf: make([]byte, 8<<10)}
	child, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return status{Failed: probe.Lifetime, Error: err.Error()}
	}
	for {
		fds := []unix.PollFd{{Fd: controlFD, Events: unix.POLLIN}, {Fd: int32(child), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, lookEvery); err != nil && !errors.Is(err, unix.EINTR) {
			return status{Failed: probe.Lifetime, Error: err.Error()}
		}
		if s, ended := reap(pid); ended {
			s.End = look.end
			return s
		}
		if fds[0].Revents != 0 && !obey() {
			return status{Exit: -1, Signal: "killed"}
		}
		if look.end == "" && look.tooMuch() {
			// The program and all its children; process 1 reads the end at its next turn.
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	}
}

// obey reads one order of the engine; false = the engine is gone.
func obey() bool {
	var order [1]byte
	n, err := unix.Read(controlFD, order[:])
	if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
		return true
	}
	if n <= 0 {
		return false
	}
	_ = unix.Kill(-1, unix.SIGTERM)
	_ = unix.Kill(-1, unix.SIGCONT)
	return true
}

// reap takes every child that ended, also those that others left behind.
func reap(pid int) (s status, ended bool) {
	for {
		var w unix.WaitStatus
		got, err := unix.Wait4(-1, &w, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if got <= 0 {
			return s, ended
		}
		if got == pid && (w.Exited() || w.Signaled()) {
			s, ended = status{Exit: w.ExitStatus()}, true
			if w.Signaled() {
				s.Exit, s.Signal = -1, unix.SignalName(w.Signal())
			}
		}
	}
}

// looker adds up what all processes of the namespace have.
type looker struct {
	limits Limits
	buf    []byte
	end    End
}

func (l *looker) tooMuch() bool {
	switch {
	case l.memory() > l.limits.Memory:
		l.end = OutOfMem
	case files(Work) > l.limits.Files || files("/tmp") > l.limits.Files:
		l.end = TooManyFiles
	}
	return l.end != ""
}

func files(dir string) int {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0
	}
	return int(s.Files - s.Ffree)
}

// memory adds up the resident memory of all processes but the first; what processes
// share counts for each.
func (l *looker) memory() int64 {
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(dir)
	var sum int64
	for {
		n, err := unix.ReadDirent(dir, l.buf[:4<<10])
		if err != nil || n <= 0 {
			return sum * int64(unix.Getpagesize())
		}
		for entries := l.buf[:n]; len(entries) > 0; {
			size := binary.NativeEndian.Uint16(entries[16:])
			sum += l.pages(entries[19:size])
			entries = entries[size:]
		}
	}
}

// pages reads the second number of /proc/N/statm, in pages.
func (l *looker) pages(name []byte) int64 {
	digits := 0
	for digits < len(name) && name[digits] >= '0' && name[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits == 1 && name[0] == '1' {
		return 0
	}
	b := append(l.buf[4<<10:4<<10], "/proc/"...)
	b = append(append(b, name[:digits]...), "/statm"...)
	fd, err := unix.Open(string(b), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, b[:cap(b)])
	if err != nil {
		return 0
	}
	var field, value int64
	for _, c := range b[:max(n, 0)] {
		switch {
		case c == ' ' && field == 1:
			return value
		case c == ' ':
			field, value = field+1, 0
		case c >= '0' && c <= '9':
			value = value*10 + int64(c-'0')
		}
	}
	return 0
}
