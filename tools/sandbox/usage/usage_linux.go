//go:build amd64 || arm64

// Package usage adds up what all programs of a PID namespace have together, for its first
// process, which no collector of memory serves.
//
// # Promises
//
//  1. [Looker.Memory] counts resident memory, tables of pages, what sockets may hold, and
//     locks of files as they were when [Looker.Locks] was called last.
//     What processes share counts for each. What the kernel keeps for
//     other things that descriptors name is not counted, and neither is what it keeps for
//     mappings: 14 MiB for a process with as many as it may have.
//  2. The first process, which looks, does not count.
//  3. A look allocates nothing: one that allocated 100 bytes would take 400 MiB in a day.
//
// # Not here
//
// What too much is, and what becomes of a program that has it (tools/sandbox).
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
	name    [64]byte
	locks   int64
	kernel  int64 // its memory, when Locks was called first
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

// process is what one has. Each page of a table has 512 entries, so that one whose address
// space is small has no large tables.
func (l *Looker) process(name []byte) int64 {
	digits := 0
	for digits < len(name) && name[digits] >= '0' && name[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits == 1 && name[0] == '1' {
		return 0
	}
	var room [32]byte
	path := append(append(room[:0], "/proc/"...), name[:digits]...)
	text := l.read(string(append(path, "/statm"...)))
	space, text := number(text)
	resident, _ := number(text)
	page := int64(os.Getpagesize())
	if space*page/512 <= sure {
		return resident * page
	}
	return resident*page + l.number(string(append(path, "/status"...)), "VmPTE:")<<10
}

// number is the one after a word in a file; 0 = it is not there.
func (l *Looker) number(file, word string) int64 {
	text := l.read(file)
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
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		n = n*10 + int64(text[i]-'0')
	}
	return n, text[i:]
}
