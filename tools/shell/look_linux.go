//go:build amd64 || arm64

package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// state is what the processes of a session do at a moment.
type state int

const (
	busy    state = iota // they work, sleep, or nobody knows
	reading              // one in the foreground waits for the terminal
	idle                 // the shell waits for its next command
	stopped              // the shell has stopped itself
)

// looker looks at the processes below the first one.
type looker struct {
	first  int    // of the session, on the host; 0 = not known yet
	device uint64 // of the terminal
}

// look says what the processes of a foreground group do.
func (l *looker) look(group int) state {
	if l.first == 0 || group == 0 {
		return busy
	}
	all := below(l.first, nil)
	is := busy
	for _, pid := range all {
		p, ok := processOf(pid)
		if !ok {
			continue
		}
		shell := p.session == pid // the shell alone begins the terminal's session
		switch {
		case shell && p.state == 'T':
			return stopped
		case p.group != group:
			continue
		case l.waits(pid):
			is = reading
		case shell && is == busy && waitsForCommand(pid):
			is = idle
		}
	}
	return is
}

const maxProcesses = 1000

// below lists a process and its descendants.
func below(pid int, list []int) []int {
	if list = append(list, pid); len(list) > maxProcesses {
		return list
	}
	for _, thread := range threads(pid) {
		text, err := os.ReadFile(thread + "/children")
		if err != nil {
			continue
		}
		for child := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(child); err == nil && len(list) <= maxProcesses {
				list = below(n, list)
			}
		}
	}
	return list
}

func threads(pid int) []string {
	list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // the pattern is right
	return list
}

type process struct {
	state          byte
	group, session int
}

// processOf reads /proc/N/stat: N (name) state parent group session …
func processOf(pid int) (p process, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := strings.LastIndexByte(string(text), ')')
	if err != nil || end < 0 {
		return p, false
	}
	f := strings.Fields(string(text[end+1:]))
	if len(f) < 4 {
		return p, false
	}
	p.state = f[0][0]
	p.group, _ = strconv.Atoi(f[2])
	p.session, _ = strconv.Atoi(f[3])
	return p, true
}

// call is the system call that a thread sleeps in, with its arguments; false = none, or it
// may not be seen.
func call(thread string) (number int64, args []uint64, ok bool) {
	text, err := os.ReadFile(thread + "/syscall")
	f := strings.Fields(string(text))
	if err != nil || len(f) < 7 {
		return 0, nil, false
	}
	if number, err = strconv.ParseInt(f[0], 10, 64); err != nil {
		return 0, nil, false
	}
	for _, a := range f[1:7] {
		v, err := strconv.ParseUint(strings.TrimPrefix(a, "0x"), 16, 64)
		if err != nil {
			return 0, nil, false
		}
		args = append(args, v)
	}
	return number, args, true
}

// waits reports whether a thread of a process sleeps until the terminal has something to
// read: in read, or in a call that waits for this one descriptor.
func (l *looker) waits(pid int) bool {
	return slices.ContainsFunc(threads(pid), func(thread string) bool {
		number, args, ok := call(thread)
		switch {
		case !ok:
			return false
		case number == unix.SYS_READ || number == unix.SYS_READV:
			return l.isTerminal(pid, args[0])
		case slices.Contains(selects(), number):
			return args[0] == 1 && args[1] != 0 && args[4] == 0 && l.isTerminal(pid, 0)
		case slices.Contains(polls(), number):
			return args[1] == 1 && l.isTerminal(pid, 0) && (number != unix.SYS_PPOLL && int32(args[2]) < 0 || number == unix.SYS_PPOLL && args[2] == 0)
		case slices.Contains(epolls(), number):
			return int32(args[3]) < 0 && l.watches(pid, args[0])
		}
		return false
	})
}

func (l *looker) isTerminal(pid int, fd uint64) bool {
	var s unix.Stat_t
	err := unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", pid, fd), &s)
	const controlling = 5 << 8 // /dev/tty
	return err == nil && s.Mode&unix.S_IFMT == unix.S_IFCHR && (s.Rdev == l.device || s.Rdev == controlling)
}

// watches reports whether an epoll descriptor waits for input of the terminal.
func (l *looker) watches(pid int, fd uint64) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var tfd, events uint64
		if n, _ := fmt.Sscanf(line, "tfd: %d events: %x", &tfd, &events); n == 2 && events&unix.EPOLLIN != 0 && l.isTerminal(pid, tfd) {
			return true
		}
	}
	return false
}

// waitsForCommand reports whether the shell reads from the pipe by which it gets commands.
func waitsForCommand(pid int) bool {
	number, args, ok := call(fmt.Sprintf("/proc/%d/task/%d", pid, pid))
	if !ok || number != unix.SYS_READ || args[0] != 0 {
		return false
	}
	var s unix.Stat_t
	err := unix.Stat(fmt.Sprintf("/proc/%d/fd/0", pid), &s)
	return err == nil && s.Mode&unix.S_IFMT == unix.S_IFIFO
}
