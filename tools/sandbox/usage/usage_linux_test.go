//go:build amd64 || arm64

package usage

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Promise 1.
func TestAProcess(t *testing.T) {
	var l Looker
	pid := []byte(strconv.Itoa(os.Getpid()))
	was := l.process(pid)
	if was < 1<<20 {
		t.Fatalf("%d bytes", was)
	}
	const size = 64 << 20
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	for i := 0; i < size; i += 4096 {
		m[i] = 1
	}
	if is := l.process(pid); is < was+size*9/10 {
		t.Errorf("%d bytes more, want %d", is-was, size)
	}
	was = l.process(pid)
	tables, err := unix.Mmap(-1, 0, 16<<30, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		t.Skip(err)
	}
	defer unix.Munmap(tables)
	sum := byte(0)
	for i := 0; i < len(tables); i += 2 << 20 {
		sum += tables[i]
	}
	if is := l.process(pid); is < was+16<<20 || sum != 0 {
		t.Errorf("%d bytes more, want those of 8,192 tables", is-was)
	}
}

// Promise 1: of what was swapped out and of tables the kernel speaks behind a name that the program chose.
func TestANameSaysNothing(t *testing.T) {
	text := []byte("Name:\tVmSwap: 0\nVmPTE:\t      12 kB\nVmSwap:\t    3000 kB\n")
	if pte, swap := after(text, "\nVmPTE:"), after(text, "\nVmSwap:"); pte != 12 || swap != 3000 {
		t.Errorf("%d and %d", pte, swap)
	}
}

// oneOf looks for a try that comes out: others of this machine open and close sockets, and take and leave locks.
func oneOf(t *testing.T, try func() (problem string)) {
	t.Helper()
	problem := ""
	for began := time.Now(); time.Since(began) < 2*time.Minute; { // others hold 400,000 locks for as long as their tests take
		if problem = try(); problem == "" {
			return
		}
	}
	t.Error(problem)
}

// Promise 1.
func TestSockets(t *testing.T) {
	var l Looker
	oneOf(t, func() string {
		was := l.number("/proc/net/sockstat", "sockets: used")
		for range 100 {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(pair[0])
			defer unix.Close(pair[1])
		}
		if more := l.number("/proc/net/sockstat", "sockets: used") - was; more < 100 {
			return fmt.Sprintf("%d sockets more of 200", more)
		}
		if l.Memory() < 100*socketHolds {
			return "sockets are not in the sum"
		}
		return ""
	})
}

// Promise 1.
func TestLocks(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lock := func(typ int16) {
		for i := range int64(1000) {
			if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: typ, Start: 2 * i, Len: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	oneOf(t, func() string {
		var l Looker
		lock(unix.F_UNLCK)
		l.count()
		was, memory := l.locks, l.Memory()
		lock(unix.F_WRLCK)
		l.count()
		if more := l.locks - was; more < 900 || l.Memory() < memory+500*lockHolds {
			return fmt.Sprintf("%d locks more of 1,000, %d bytes more", more, l.Memory()-memory)
		}
		return ""
	})
}

// Promise 2.
func TestTheFirstProcessLooks(t *testing.T) {
	var l Looker
	for _, name := range []string{"1", "1\x00\x00", "self", "sys", "", "999999999"} {
		if n := l.process([]byte(name)); n != 0 {
			t.Errorf("%q: %d bytes", name, n)
		}
	}
	if n := l.process(append([]byte(strconv.Itoa(os.Getpid())), 0, 0, 0)); n == 0 {
		t.Error("an entry of a folder ends in zeros")
	}
}

// Promise 3.
func TestALookAllocatesNothing(t *testing.T) {
	var l Looker
	child := exec.Command("/proc/self/exe", "-test.run=^$")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	pid := []byte(strconv.Itoa(child.Process.Pid))
	oneOf(t, func() string { // one that has ended has one thread, which has ended, too
		if text := l.read(fmt.Sprintf("/proc/%d/statm", child.Process.Pid)); !bytes.HasPrefix(text, []byte("0 ")) {
			return "it has not ended"
		}
		return ""
	})
	if n := testing.AllocsPerRun(10, func() {
		l.Locks()
		l.count()
		l.process(pid)
		if l.Memory() < 1<<20 || l.Files("/") < 0 {
			t.Error("nothing was seen")
		}
	}); n > 0 {
		t.Errorf("%.0f times", n)
	}
}
