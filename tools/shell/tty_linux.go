//go:build amd64 || arm64

package shell

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Size of a terminal.
const (
	columns = 200
	rows    = 50
)

// terminal is a pseudo-terminal: the engine's end and the program's.
type terminal struct {
	master, slave *os.File
	device        uint64 // of the slave
}

func openTerminal() (*terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	t := &terminal{master: master}
	err = t.control(func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		slave, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if no != 0 {
			return no
		}
		t.slave = os.NewFile(slave, "terminal")
		var s unix.Stat_t
		err := unix.Fstat(int(slave), &s)
		t.device = s.Rdev
		return errors.Join(err, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
	})
	if err == nil {
		err = t.reset()
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// control calls do with the descriptor of the engine's end, which stays one that does not
// block.
func (t *terminal) control(do func(fd int) error) error {
	raw, err := t.master.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	return errors.Join(raw.Control(func(fd uintptr) { inner = do(int(fd)) }), inner)
}

// reset gives the terminal the modes in which each command begins: lines, signals, and no
// echo.
func (t *terminal) reset() error {
	return t.control(func(fd int) error {
		m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		m.Iflag = unix.ICRNL | unix.IXON | unix.IUTF8
		m.Oflag = 0 // lines end as they are written
		m.Lflag = unix.ISIG | unix.ICANON | unix.IEXTEN
		m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
		return unix.IoctlSetTermios(fd, unix.TCSETS, m)
	})
}

// lines reports whether a reader gets whole lines, as opposed to single keys.
func (t *terminal) lines() (is bool) {
	is = true
	_ = t.control(func(fd int) error { // unknown = as it was
		m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		is = err != nil || m.Lflag&unix.ICANON != 0
		return err
	})
	return is
}

// foreground is the process group, of this process's namespace, that the terminal belongs
// to; 0 = not known.
func (t *terminal) foreground() int { return t.number(unix.TIOCGPGRP) }

// unread is how many bytes the session has written that nobody has read yet.
func (t *terminal) unread() int { return t.number(unix.TIOCINQ) }

// number is what the terminal answers to a request; 0 = not known.
func (t *terminal) number(request uint) (n int) {
	_ = t.control(func(fd int) (err error) { // 0 says it
		n, err = unix.IoctlGetInt(fd, request)
		return err
	})
	return n
}

func (t *terminal) close() error {
	if t.slave != nil {
		_ = t.slave.Close()
	}
	return t.master.Close()
}
