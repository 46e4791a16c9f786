//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package audit

import (
	"errors"
	"os"
	"syscall"
)

// nonblock lets a pipe in the place of the file be an error.
const nonblock = syscall.O_NONBLOCK

// lock waits until no other process has the file. Closing it gives the lock back.
func lock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
