//go:build amd64 || arm64

// Package door gives a program in the sandbox its only network connection, to a server of the engine:
// the worker makes a listener in the network namespace of the program ([Listen]) and sends
// it over a socket pair to the engine, which serves it ([Open]).
//
// # Not here
//
// The server (tools/proxy); keeping the program from reaching anything else (tools/sandbox).
package door

import (
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Address is where a program reaches its door, alone in its network namespace.
const Address = "127.0.0.1:3128"

// Port is that of Address.
const Port = 3128

// Door is the engine's side. You must call Close.
type Door struct {
	conn net.Conn
	done chan struct{} // closed when nobody serves any more

	mu       sync.Mutex
	listener net.Listener // nil = not here yet
	closed   bool
}

// Open makes a door and the end of the worker. What serves is done when Close returns.
func Open(serve func(net.Listener)) (*Door, *os.File, error) {
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
	d := &Door{conn: conn, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		if l := d.receive(); l != nil {
			serve(l)
		}
	}()
	return d, theirs, nil
}

// receive waits for the listener; nil = the worker is gone, or sent none, which shows elsewhere.
func (d *Door) receive() net.Listener {
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

// Close ends the listener, and waits for whoever serves it.
func (d *Door) Close() {
	d.conn.Close()
	d.mu.Lock()
	d.closed = true
	if d.listener != nil {
		d.listener.Close()
	}
	d.mu.Unlock()
	<-d.done
}

// Variables are how programs are told of their proxy.
func Variables() (env []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"=http://"+Address)
	}
	return append(env, "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1")
}

// Listen makes the listener and sends it to the engine, by the end that Open made. The worker
// does so while it still may. raise says that the loopback interface is not up yet.
func Listen(end int, raise bool) error {
	if raise {
		if err := raiseLoopback(); err != nil {
			return fmt.Errorf("raise the loopback interface: %w", err)
		}
	}
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(l)
	if err := unix.Bind(l, &unix.SockaddrInet4{Port: Port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(l, 64); err != nil {
		return err
	}
	defer unix.Close(end)
	return unix.Sendmsg(end, []byte{0}, unix.UnixRights(l), nil, 0)
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
