package export

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tavernsim/protocol"
)

// File is a file that is being written under another name, which ends in .partial.
type File struct {
	*os.File
	name    string
	replace bool
}

// Create begins a file; where there is one already it is refused unless replace.
func Create(name string, replace bool) (*File, error) {
	if err := free(name, replace); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.partial")
	if err != nil {
		return nil, fileError(name, err)
	}
	return &File{f, name, replace}, nil
}

func free(name string, replace bool) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fileError(name, err)
	case info.IsDir():
		return protocol.Errorf(protocol.KindConflict, "%s is a directory", name)
	case !replace:
		return protocol.Errorf(protocol.KindConflict, "%s is there already; name another file", name)
	}
	return nil
}

func fileError(name string, err error) error {
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
func (f *File) Keep() error {
	if err := free(f.name, f.replace); err != nil { // another process was faster
		f.Drop()
		return err
	}
	err := errors.Join(f.Chmod(0o644), f.Sync())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), f.name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fileError(f.name, err)
	}
	return nil
}

// Drop removes what was written.
func (f *File) Drop() {
	_ = f.Close()
	_ = os.Remove(f.Name())
}
