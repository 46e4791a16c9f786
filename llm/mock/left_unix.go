//go:build unix

package mock

import (
	"net"
	"syscall"
)

// left reports whether the client of a connection has closed its side.
func left(c net.Conn) (gone bool) {
	to, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := to.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		gone = n == 0 && err == nil || err == syscall.ECONNRESET
	})
	return gone || err != nil
}
