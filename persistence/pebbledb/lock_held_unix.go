//go:build unix

package pebbledb

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
)

// isHeld reports whether a lock failed because somebody has it: another process
// by the error number of the lock call (a file that may not be opened carries
// its path), this process by Pebble's words, for which it has no value.
func isHeld(err error) bool {
	if errors.Is(err, syscall.EAGAIN) || strings.Contains(err.Error(), "lock held by current process") {
		return true
	}
	var path *os.PathError
	return errors.Is(err, syscall.EACCES) && !errors.As(err, &path)
}

// isLocked reports whether another process has a lock on a file, without taking it.
func isLocked(name string) bool {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
	if err != nil {
		return false
	}
	defer f.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock)
	return err == nil && lock.Type != syscall.F_UNLCK
}
