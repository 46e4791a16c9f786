package folders

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// A file is read in windows of so many bytes. The end of one is the beginning of the next, so that a secret on a
// border is found: as much as two answers of a session are looked at together.
const (
	window  = 512 << 10
	overlap = 4 << 10
)

// Swept are the paths that a sweep removed.
type Swept struct {
	Files  []string // they had a secret, or were named by one
	Unread []string // nobody can read them
}

// Any reports whether anything was removed.
func (s *Swept) Any() bool { return len(s.Files)+len(s.Unread) > 0 }

func (s *Swept) add(more Swept) {
	s.Files, s.Unread = append(s.Files, more.Files...), append(s.Unread, more.Unread...)
}

// errUnread: a file that nobody can read.
var errUnread = errors.New("it cannot be read")

// Sweep removes files that changed since a moment and have a secret, or are named by one; without a moment, those
// among all files. What cannot be read is removed, too. A nil has removes every file that changed, and no folder.
// After an error some were not looked at, or are still there.
func Sweep(folders []string, since time.Time, has func(text string) bool) (removed Swept, err error) {
	text := make([]byte, window)
	var stay []error
	w := walker{remove: true, see: func(dir *os.Root, name, path string, info fs.FileInfo) error {
		if !changedSince(info, since) || has == nil && info.IsDir() {
			return nil
		}
		list, is, err := &removed.Files, true, error(nil)
		switch {
		case has == nil || has(name):
		case info.Mode().IsRegular():
			if is, err = holds(dir, name, text, has); errors.Is(err, errUnread) {
				list, is, err = &removed.Unread, true, nil
			}
		default:
			is = info.Mode()&fs.ModeSymlink != 0 && links(dir, name, has)
		}
		if err == nil && is {
			err = remove(dir, name, info)
		}
		switch {
		case err != nil && !OfMachine(err):
			stay = append(stay, err)
			return nil
		case err != nil || !is:
			return err
		}
		*list = append(*list, path)
		return fs.SkipDir
	}}
	for _, dir := range folders {
		stay = append(stay, w.folder(dir))
	}
	return removed, errors.Join(stay...)
}

// holds reports whether a file has a secret. It reads as much as the file has now: what is appended changes it again.
func holds(dir *os.Root, name string, text []byte, has func(string) bool) (bool, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	f, err := dir.OpenFile(name, flags, 0)
	if errors.Is(err, fs.ErrPermission) && dir.Chmod(name, 0o600) == nil {
		f, err = dir.OpenFile(name, flags, 0)
	}
	if err != nil {
		return false, unread(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, unread(err)
	}
	if !info.Mode().IsRegular() {
		return false, nil // another one took its place; the next sweep sees it
	}
	n := 0
	for from := io.LimitReader(f, info.Size()); ; n = copy(text, text[n-min(n, overlap):n]) {
		more, err := io.ReadFull(from, text[n:])
		if n += more; more > 0 && has(string(text[:n])) {
			return true, nil
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, unread(err)
		}
	}
}

// unread is the error of a file that was not read; nil = it is there no more.
func unread(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case OfMachine(err):
		return err
	}
	return errUnread
}

// remove removes what is in a folder, whatever modes programs gave to folders.
func remove(dir *os.Root, name string, info fs.FileInfo) error {
	err := dir.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = dir.Chmod(".", 0o700)
	if info.IsDir() {
		_ = dir.Chmod(name, 0o700)
		w := walker{see: func(in *os.Root, name, _ string, info fs.FileInfo) error {
			if info.IsDir() {
				_ = in.Chmod(name, 0o700)
			}
			return nil
		}}
		_ = w.enter(dir, name, "", 0)
	}
	return dir.RemoveAll(name)
}

// links reports whether a symbolic link names a secret.
func links(dir *os.Root, name string, has func(string) bool) bool {
	to, err := dir.Readlink(name)
	return err == nil && has(to)
}

// Moment is a time that no file which changes from now on is older than: a file system's clock
// goes in steps.
func Moment() time.Time { return time.Now().Add(-20 * time.Millisecond) }
