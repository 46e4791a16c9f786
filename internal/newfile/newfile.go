// Package newfile writes files that have their names when they are complete.
//
// You call [Write], or [Create] and then Keep or Drop. A kill leaves a file whose name ends in .partial. Of two that
// write one new file, one has the name, and the other one is refused.
package newfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tavernsim/protocol"
)

// File is a file that is being written under another name.
type File struct {
	*os.File
	name    string
	replace bool
}

// Write writes a whole file, or nothing if to fails.
func Write(name string, replace bool, to func(io.Writer) error) error {
	f, err := Create(name, replace)
	if err != nil {
		return err
	}
	if err := to(f); err != nil {
		f.Drop()
		return err
	}
	return f.Keep()
}

// Create begins a file; where there is one already it is refused unless replace. A file in the place of another one
// has its mode, and a symbolic link to that stays.
func Create(name string, replace bool) (*File, error) {
	mode, look := os.FileMode(0o644), os.Lstat
	if replace {
		name, look = target(name), os.Stat
	}
	info, err := look(name)
	there := err == nil
	switch {
	case !there && !errors.Is(err, fs.ErrNotExist):
		return nil, Error(name, err)
	case there && info.IsDir():
		return nil, protocol.Errorf(protocol.KindConflict, "%s is a directory", name)
	case there && !replace:
		return nil, taken(name)
	case there && !info.Mode().IsRegular():
		return nil, protocol.Errorf(protocol.KindConflict, "%s is no regular file", name)
	case there:
		mode = info.Mode().Perm()
	}
	f, err := os.OpenFile(name+"."+rand.Text()[:10]+".partial", os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, Error(name, err)
	}
	file := &File{f, name, replace}
	if there { // the mask does not count for a mode that is there already
		if err := f.Chmod(mode); err != nil {
			file.Drop()
			return nil, Error(name, err)
		}
	}
	return file, nil
}

// target follows symbolic links, also to a file that is not there. It leaves a chain of more than 40 to os.Stat, which
// refuses it.
func target(name string) string {
	for range 40 {
		to, err := os.Readlink(name)
		if err != nil {
			return name
		}
		if !filepath.IsAbs(to) { // filepath.Join would take x/.. away, where x may be a link too
			to = filepath.Dir(name) + string(filepath.Separator) + to
		}
		name = to
	}
	return name
}

func taken(name string) error {
	return protocol.Errorf(protocol.KindConflict, "%s: %w; name another file", name, fs.ErrExist)
}

// Error is a fault of the file system about this file.
func Error(name string, err error) error {
	kind := protocol.KindTransient
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = protocol.KindNotFound
	case errors.Is(err, fs.ErrPermission):
		kind = protocol.KindDenied
	}
	return protocol.Errorf(kind, "%s: %w", name, err)
}

// Keep gives the file its name once all of it is on the disk.
func (f *File) Keep() error { return f.keep(os.Link) }

func (f *File) keep(link func(old, now string) error) error {
	err := errors.Join(f.Sync(), f.Close())
	switch {
	case err != nil:
	case f.replace:
		err = os.Rename(f.Name(), f.name)
	default:
		err = f.place(link)
	}
	_ = os.Remove(f.Name()) // the second name of a file that was linked
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist): // another process was faster
		return taken(f.name)
	}
	return Error(f.name, err)
}

// place takes the name unless another file has it. A rename would take it from that file.
func (f *File) place(link func(old, now string) error) error {
	err := link(f.Name(), f.name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	own, err := os.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // the file system has no links
	if err != nil {
		return err
	}
	if err = errors.Join(own.Close(), os.Rename(f.Name(), f.name)); err != nil {
		_ = os.Remove(f.name)
	}
	return err
}

// Drop removes what was written.
func (f *File) Drop() {
	_ = f.Close()
	_ = os.Remove(f.Name())
}
