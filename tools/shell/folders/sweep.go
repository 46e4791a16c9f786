package folders

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Bounds of what a sweep reads, in bytes: one file, and all.
const (
	maxSwept    = 16 << 20
	maxAllSwept = 64 << 20
)

// Sweep removes files that changed since a moment and have a secret, or are named by one.
// What cannot be read, or is too large to be, is removed too. A nil has removes every file that
// changed, and no folder.
func Sweep(folders []string, since time.Time, has func(text string) bool) (removed []string) {
	left := int64(maxAllSwept)
	w := walker{remove: true, see: func(dir *os.Root, name, path string, info fs.FileInfo) error {
		switch {
		case !changedSince(info, since) || has == nil && info.IsDir():
			return nil
		case has == nil:
			_ = dir.Remove(name)
			removed = append(removed, path)
			return nil
		}
		if has(name) || info.Mode().IsRegular() && holds(dir, name, info.Size(), &left, has) || info.Mode()&fs.ModeSymlink != 0 && links(dir, name, has) {
			_ = dir.RemoveAll(name) // what goes away meanwhile is gone
			removed = append(removed, path)
			return fs.SkipDir
		}
		return nil
	}}
	for _, dir := range folders {
		_ = w.folder(dir) // what cannot be seen is removed, or nobody can
	}
	return removed
}

// holds reports whether a file has a secret.
func holds(dir *os.Root, name string, size int64, left *int64, has func(string) bool) bool {
	if *left -= size; size > maxSwept || *left < 0 {
		return true
	}
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	f, err := dir.OpenFile(name, flags, 0)
	if errors.Is(err, fs.ErrPermission) && dir.Chmod(name, 0o600) == nil {
		f, err = dir.OpenFile(name, flags, 0)
	}
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSwept))
	return err != nil || has(string(text))
}

// links reports whether a symbolic link names a secret.
func links(dir *os.Root, name string, has func(string) bool) bool {
	to, err := dir.Readlink(name)
	return err == nil && has(to)
}

// Moment is a time that no file which changes from now on is older than: a file system's clock
// goes in steps.
func Moment() time.Time { return time.Now().Add(-20 * time.Millisecond) }
