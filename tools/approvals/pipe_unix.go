//go:build unix

package approvals

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// makePipe makes a named pipe that stays open for whoever writes.
func makePipe(name string) (*os.File, error) {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0)
}

// openPipe opens a pipe that somebody reads.
func openPipe(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		_ = f.Close()
		return nil, errors.New("it is no pipe")
	}
	return f, nil
}
