//go:build unix

package direct

import (
	"errors"
	"net"
	"syscall"
)

// probe looks whether the other side has closed a connection, or sent anything.
type probe struct {
	raw  syscall.RawConn // nil = it cannot
	look func(fd uintptr) (done bool)
	open *bool // what look has found
}

func newProbe(to net.Conn) probe {
	c, ok := to.(syscall.Conn)
	if !ok {
		return probe{}
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return probe{}
	}
	open, b := new(bool), make([]byte, 1)
	return probe{raw, func(fd uintptr) bool {
		_, err := syscall.Read(int(fd), b) // the descriptor never blocks
		*open = errors.Is(err, syscall.EAGAIN)
		return true
	}, open}
}

// alive reports whether a connection that carries no request can carry one.
func (c *conn) alive() bool {
	if c.probe.raw == nil {
		return true
	}
	return c.probe.raw.Read(c.probe.look) == nil && *c.probe.open
}
