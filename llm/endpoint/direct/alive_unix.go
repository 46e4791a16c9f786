//go:build unix

package direct

import (
	"errors"
	"net"
	"syscall"
)

// probe looks whether the other side has closed a connection, or sent anything.
type probe struct{ raw syscall.RawConn } // nil = it cannot

func newProbe(to net.Conn) probe {
	c, ok := to.(syscall.Conn)
	if !ok {
		return probe{}
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return probe{}
	}
	return probe{raw}
}

// alive reports whether a connection that carries no request can carry one.
func (c *conn) alive() bool {
	if c.probe.raw == nil {
		return true
	}
	open := false
	err := c.probe.raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:]) // the descriptor never blocks
		open = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && open
}
