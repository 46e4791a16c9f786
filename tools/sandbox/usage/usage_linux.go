//go:build amd64 || arm64

// Package usage adds up the memory of all programs of a PID namespace, for its first
// process, which runs without a garbage collector.
//
// # Promises
//
//  1. [Looker.Memory] counts resident memory, swapped memory, page tables, socket buffers at their limit, and
//     file locks as of the last call of [Looker.Locks].
//     Shared memory counts for each process. Kernel memory for
//     other descriptors does not count: what lies in pipes, and what epoll keeps. Neither does kernel memory for
//     mappings: 14 MiB for a process with the largest number of mappings.
//  2. The first process itself does not count.
//  3. A look allocates nothing: 100 bytes for each look would take 400 MiB in a day.
//
// # Not here
//
// The bound, and the end of a program that exceeds it (tools/sandbox).
package usage

import (
	"bytes"
	"encoding/binary"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socketHolds is about what a pair's end takes of data that nobody reads, in bytes: twice the
// kernel's usual buffer, which a program cannot enlarge (package filter).
const socketHolds = 256 << 10

// lockHolds is what a lock of a part of a file counts, in bytes: far more than what the kernel keeps
// for it, so that the list of those that are too many is short. A descriptor has any number.
const lockHolds = 64 << 10

// mostLocks are as many as are counted: the kernel takes long for a long list, and nobody on the
// machine gets a lock meanwhile.
const mostLocks = 1 << 14

// grown is by how much the kernel's memory has to grow before anybody counts locks.
const grown = 16 << 20

// Looker looks. Its zero value is ready.
type Looker struct {
	entries [4 << 10]byte
	text    [4 << 10]byte
	threads [4 << 10]byte
	name    [64]byte
	locks   int64
	kernel  int64 // its memory, when Locks was called first
	swaps   bool  // the machine has a place to swap to
}

// Files are the entries of the file system of a folder in memory.
func (l *Looker) Files(dir string) int {
	var s unix.Statfs_t
	if _, _, no := unix.Syscall(unix.SYS_STATFS, uintptr(l.named(dir)), uintptr(unsafe.Pointer(&s)), 0); no != 0 {
		return 0
	}
	return int(s.Files - s.Ffree)
}

// Locks counts the locks of files, if the kernel of the machine has taken much memory since the
// first call.
func (l *Looker) Locks() {
	kernel := l.number("/proc/meminfo", "SUnreclaim:") << 10
	if l.kernel == 0 {
		l.kernel = kernel
	}
	if kernel > l.kernel+grown {
		l.count()
	}
}

func (l *Looker) count() {
	l.locks = 0
	fd, err := l.open("/proc/locks")
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for l.locks < mostLocks {
		n, err := unix.Read(fd, l.text[:])
		if err != nil || n <= 0 {
			return
		}
		// Those of nobody belong to open files, perhaps of other programs of the machine.
		l.locks += int64(bytes.Count(l.text[:n], []byte("\n")) - bytes.Count(l.text[:n], []byte(" -1 ")))
	}
}

// Memory is what there is, in bytes.
func (l *Looker) Memory() int64 {
	var machine unix.Sysinfo_t
	l.swaps = unix.Sysinfo(&machine) == nil && machine.Totalswap > 0
	return l.processes() + l.number("/proc/net/sockstat", "sockets: used")*socketHolds + l.locks*lockHolds
}

func (l *Looker) processes() (sum int64) {
	dir, err := l.open("/proc")
	if err != nil {
		return 0
	}
	defer unix.Close(dir)
	for {
		n, err := unix.ReadDirent(dir, l.entries[:])
		if err != nil || n <= 0 {
			return sum
		}
		for entries := l.entries[:n]; len(entries) > 0; {
			size := binary.NativeEndian.Uint16(entries[16:])
			sum += l.process(entries[19:size])
			entries = entries[size:]
		}
	}
}

// sure is how large tables of pages may be at most before it matters how large they are.
const sure = 4 << 20

// process is what one has. The kernel says nothing of one whose first thread has ended, but of its other threads.
func (l *Looker) process(name []byte) int64 {
	pid := digits(name)
	if len(pid) == 0 || string(pid) == "1" {
		return 0
	}
	var room [64]byte
	path := append(append(room[:0], "/proc/"...), pid...)
	if sum, lives := l.has(path); lives {
		return sum
	}
	path = append(path, "/task"...)
	dir, err := l.open(unsafe.String(&path[0], len(path)))
	if err != nil {
		return 0
	}
	defer unix.Close(dir)
	n, _ := unix.ReadDirent(dir, l.threads[:]) // all: there are fewer than 64
	for entries := l.threads[:max(n, 0)]; len(entries) > 0; {
		size := binary.NativeEndian.Uint16(entries[16:])
		if id := digits(entries[19:size]); len(id) > 0 {
			if sum, lives := l.has(append(append(path, '/'), id...)); lives {
				return sum
			}
		}
		entries = entries[size:]
	}
	return 0
}

// has is what the process of a thread has, by the thread's folder; false = the thread has ended. Each page of a
// table has 512 entries, so that one whose address space is small has no large tables.
func (l *Looker) has(thread []byte) (sum int64, lives bool) {
	file := append(thread, "/statm"...)
	text := l.read(unsafe.String(&file[0], len(file)))
	space, text := number(text)
	resident, _ := number(text)
	page := int64(os.Getpagesize())
	if space*page/512 <= sure && !l.swaps {
		return resident * page, space > 0
	}
	file = append(thread, "/status"...)
	text = l.read(unsafe.String(&file[0], len(file)))
	// A program gives itself a name, which is in the first line.
	return resident*page + (after(text, "\nVmPTE:")+after(text, "\nVmSwap:"))<<10, space > 0
}

// digits are those with which a text begins.
func digits(text []byte) []byte {
	i := 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return text[:i]
}

// number is the one after a word in a file; 0 = it is not there.
func (l *Looker) number(file, word string) int64 { return after(l.read(file), word) }

func after(text []byte, word string) int64 {
	i := bytes.Index(text, []byte(word))
	if i < 0 {
		return 0
	}
	n, _ := number(text[i+len(word):])
	return n
}

// open opens a file to read it.
func (l *Looker) open(file string) (int, error) {
	here := unix.AT_FDCWD
	fd, _, no := unix.Syscall6(unix.SYS_OPENAT, uintptr(here), uintptr(l.named(file)), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if no != 0 {
		return -1, no
	}
	return int(fd), nil
}

// named is a name as the kernel reads it, until the next one. Package unix would allocate it.
func (l *Looker) named(name string) unsafe.Pointer {
	l.name[copy(l.name[:len(l.name)-1], name)] = 0
	return unsafe.Pointer(&l.name)
}

func (l *Looker) read(file string) []byte {
	fd, err := l.open(file)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, l.text[:])
	if err != nil {
		return nil
	}
	return l.text[:n]
}

// number reads one, after spaces.
func number(text []byte) (n int64, rest []byte) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	text = text[i:]
	for _, c := range digits(text) {
		n, text = n*10+int64(c-'0'), text[1:]
	}
	return n, text
}
