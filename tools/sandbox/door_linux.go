//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// door is how the listener of a proxy comes out of the network namespace of its program: the
// worker makes it there and sends it over a pair of sockets, and the engine serves it.
type door struct {
	conn net.Conn
	done chan struct{} // closed when nobody serves any more

	mu       sync.Mutex
	listener net.Listener // nil = not here yet
	closed   bool
}

// openDoor makes a door and the end of the worker. What serves is done when close returns.
func openDoor(serve func(net.Listener)) (*door, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "door"), os.NewFile(uintptr(pair[1]), "door")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, theirs, err
	}
	d := &door{conn: conn, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		if l := d.receive(); l != nil {
			serve(l)
		}
	}()
	return d, theirs, nil
}

// receive waits for the listener; nil = the worker is gone, or sent none, which shows elsewhere.
func (d *door) receive() net.Listener {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := d.conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil
	}
	f := os.NewFile(uintptr(fds[0]), "proxy")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		l.Close()
		return nil
	}
	d.listener = l
	return l
}

// close ends the listener, and waits for whoever serves it.
func (d *door) close() {
	d.conn.Close()
	d.mu.Lock()
	d.closed = true
	if d.listener != nil {
		d.listener.Close()
	}
	d.mu.Unlock()
	<-d.done
}

// proxyVariables are how programs are told of their proxy.
func proxyVariables() (env []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"=http://"+ProxyAddress)
	}
	return append(env, "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1")
}

// listen makes the listener of the proxy and sends it to the engine. The worker does so
// while it still may.
func (j *job) listen() error {
	if j.View {
		if err := raiseLoopback(); err != nil {
			return fmt.Errorf("raise the loopback interface: %w", err)
		}
	}
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(l)
	if err := unix.Bind(l, &unix.SockaddrInet4{Port: proxyPort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(l, 64); err != nil {
		return err
	}
	defer unix.Close(doorFD)
	return unix.Sendmsg(doorFD, []byte{0}, unix.UnixRights(l), nil, 0)
}

func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}
