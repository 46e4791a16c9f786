//go:build amd64 || arm64

package sandbox

import (
	"errors"

	"golang.org/x/sys/unix"

	"tavernsim/tools/sandbox/usage"
)

// lookEvery is how often process 1 looks at memory and files, in milliseconds.
const lookEvery = 20

// watch is process 1 of the namespace: it reaps, passes the end on, and looks at what all
// processes have together. It starts no thread, so a program that took every process it may have cannot stop it,
// and a look allocates nothing, so it can look for as long as the program lives. When it returns, the worker
// ends, and with it everything in the namespace.
func (j *job) watch(pid int) status {
	// Its own copies would keep the outputs open after the program closed them.
	for fd := range 3 {
		_ = unix.Close(fd)
	}
	look := &looker{limits: j.Limits}
	child, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		child = -1 // then the next look sees its end
	}
	for {
		fds := []unix.PollFd{{Fd: controlFD, Events: unix.POLLIN}, {Fd: int32(child), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, lookEvery); err != nil && !errors.Is(err, unix.EINTR) {
			return killed()
		}
		if s, ended := reap(pid); ended {
			s.End = look.end
			return s
		}
		if fds[0].Revents != 0 && !obey() {
			return killed()
		}
		if look.end == "" && look.tooMuch() {
			// The program and all its children; process 1 reads the end at its next turn.
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	}
}

// killed is the status of a program that dies with its worker.
func killed() status { return status{Exit: -1, Signal: unix.SignalName(unix.SIGKILL)} }

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

// looker says when all processes of the namespace have too much.
type looker struct {
	limits Limits
	usage  usage.Looker
	looks  int
	end    End
}

// locksEvery is after how many looks the locks of files are looked at.
const locksEvery = 50

func (l *looker) tooMuch() bool {
	if l.looks++; l.looks%locksEvery == 1 {
		l.usage.Locks()
	}
	switch {
	case l.usage.Memory() > l.limits.Memory:
		l.end = OutOfMem
	case l.usage.Files(Work) > l.limits.Files || l.usage.Files("/tmp") > l.limits.Files:
		l.end = TooManyFiles
	}
	return l.end != ""
}
