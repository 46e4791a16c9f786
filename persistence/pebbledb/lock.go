package pebbledb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tavernsim/protocol"
)

// ownerFile names, inside the directory, who holds the lock: a line for people,
// written after the lock was taken and removed before it is given back. The
// lock itself is Pebble's LOCK file, locked by the operating system. A second line
// tells a process from others that have the same number on a host of the same name,
// as in containers.
const ownerFile = "OWNER"

// lockDir takes the directory's lock. unclean is what an owner that did not
// close left behind, or "".
func lockDir(fsys vfs.FS, dir string) (lock *pebble.Lock, unclean string, err error) {
	lock, err = pebble.LockDirectory(dir, fsys)
	if err != nil {
		return nil, "", lockError(fsys, dir, err)
	}
	name := fsys.PathJoin(dir, ownerFile)
	unclean, _ = readOwner(fsys, name)
	if err := writeOwner(fsys, name); err != nil {
		_ = lock.Close()
		kind := protocol.KindTransient
		if isFull(err) {
			kind = protocol.KindLimit
		}
		return nil, "", protocol.Errorf(kind, "journal store: open %s: write %s: %w", dir, ownerFile, err)
	}
	return lock, unclean, nil
}

// isRunning reports whether the owner that a database names is there: the lock tells,
// unless it is this process. That must not open the lock file of its own database: to
// close it again would give the lock back.
func isRunning(fsys vfs.FS, dir, owner string, own bool) bool {
	return own || owner != "" && isLocked(fsys.PathJoin(dir, "LOCK"))
}

// IsWrittenBeside reports whether another process has the database in a directory. It
// takes no lock and opens nothing else.
func IsWrittenBeside(dir string) bool {
	owner, own := readOwner(vfs.Default, dir+"/"+ownerFile)
	return !own && isRunning(vfs.Default, dir, owner, own)
}

// isFull reports whether something failed because the disk has no room.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// lockError tells a lock that is held from a directory that cannot be written.
func lockError(fsys vfs.FS, dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) && !isHeld(err) {
		return protocol.Errorf(protocol.KindDenied, "journal store: open %s: %w: the directory must be writable", dir, err)
	}
	if !isHeld(err) {
		return protocol.Errorf(protocol.KindTransient, "journal store: open %s: take the lock: %w", dir, err)
	}
	owner, _ := readOwner(fsys, fsys.PathJoin(dir, ownerFile))
	if owner == "" {
		owner = "another process"
	}
	return protocol.Errorf(protocol.KindConflict, "%s is locked by %s: stop it first; one process writes a run (%w)", dir, owner, err)
}

// openFile opens a regular file: a pipe would be waited for without end.
func openFile(fsys vfs.FS, name string, opts ...vfs.OpenOption) (vfs.File, error) {
	info, err := fsys.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, protocol.Errorf(protocol.KindCorrupt, "journal store: %s has the mode %s; want a regular file", name, info.Mode())
	}
	return fsys.Open(name, opts...)
}

// readOwner gives the line for people; own = it is this process.
func readOwner(fsys vfs.FS, name string) (owner string, own bool) {
	f, err := openFile(fsys, name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 512))
	if err != nil || len(text) == 0 {
		return "an unknown process", false
	}
	owner, mark, _ := strings.Cut(string(text), "\n")
	owner = strings.TrimSpace(owner)
	return owner, isOwn(owner, strings.TrimSpace(mark))
}

// isOwn reports whether an owner is this process. One whose mark is not known is, if it has the number:
// to take it for another one could give the lock back.
func isOwn(owner, mark string) bool {
	is := processMark()
	return strings.HasPrefix(owner, fmt.Sprintf("process %d on ", os.Getpid())) && (is == "" || mark == "" || mark == is)
}

// processMark tells this process from others with its number: those of other containers, and those
// before it. "" = this system does not say.
func processMark() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	stat, unread := os.ReadFile("/proc/self/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // behind the name, which may have blanks
	const began = 19                                                          // in ticks since the machine began
	if err != nil || unread != nil || len(fields) <= began {
		return ""
	}
	return space + " " + fields[began]
}

func writeOwner(fsys vfs.FS, name string) error {
	f, err := fsys.Create(name, "simd-owner")
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	if _, err := fmt.Fprintf(f, "process %d on %.200s\n%s\n", os.Getpid(), host, processMark()); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// Claim takes the lock of a database that is there and does not open it: nobody
// else opens it until free is called.
func Claim(dir string) (free func() error, err error) {
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil {
		return nil, lockError(vfs.Default, dir, err)
	}
	return lock.Close, nil
}

// InUse reports whether a process has the database in a directory.
func InUse(dir string) bool {
	if _, err := os.Stat(dir + "/" + ownerFile); err != nil {
		return false // so that a look takes no lock from those who begin
	}
	free, err := Claim(dir)
	if err != nil {
		return isHeld(err)
	}
	return free() != nil
}
