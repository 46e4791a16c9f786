//go:build unix

package pebbledb

import (
	"errors"
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

// isReadOnly reports whether something failed because the file system takes no
// writes.
func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
