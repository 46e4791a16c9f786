// Package folders examines folders while untrusted programs may change them and hide
// files in them: their size ([Measure]), and the files that have a secret ([Sweep]). It also makes private folders,
// which are removed even after a kill ([Private], [RemoveLeft]).
//
// An error of the machine ([OfMachine]) removes nothing.
//
// # Not here
//
// The times of checks, and the bounds (tools/shell).
package folders

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxDeep bounds folders in folders: each is a descriptor while one looks.
const maxDeep = 100

// Size is how much is in folders.
type Size struct {
	Files  int
	Bytes  int64
	Hidden error // what could not be looked at; it names no file. nil = all was seen
}

// nameless is an error without the name of a file, which may be anything.
func nameless(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// OfMachine reports whether an error says nothing of what was looked at: this program or its machine has too little
// of something, or a disk is broken.
func OfMachine(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EIO)
}

// Measure looks at folders. remove = what cannot be looked at is removed, where it can be.
// It stops at more than most files.
func Measure(folders []string, most int, remove bool) (is Size) {
	w := walker{remove: remove, see: func(_ *os.Root, _, _ string, info fs.FileInfo) error {
		if info.Mode().IsRegular() {
			is.Bytes += info.Size()
		}
		if is.Files++; is.Files > most {
			return fs.SkipAll
		}
		return nil
	}}
	for _, dir := range folders {
		if err := w.folder(dir); err != nil && !errors.Is(err, fs.SkipAll) {
			is.Hidden = nameless(err)
		}
	}
	return is
}

// walker sees all that is below a folder. It goes by the descriptors of the folders, so that
// no path is too long and no link leads it elsewhere, while programs change what is there.
type walker struct {
	// see is told everything; fs.SkipDir = what is below it is not wanted.
	see    func(dir *os.Root, name, path string, info fs.FileInfo) error
	remove bool // what cannot be seen
}

// asFolder lets only a folder be opened: a named pipe that took its place would let the
// open wait.
const asFolder = "/."

func (w *walker) folder(path string) error {
	dir, err := os.OpenRoot(path + asFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return w.below(dir, "", 0)
}

func (w *walker) below(dir *os.Root, path string, deep int) error {
	folders, err := w.list(dir, path)
	if err != nil {
		return err
	}
	for _, name := range folders {
		if err := w.enter(dir, name, path+name+"/", deep+1); err != nil {
			return err
		}
	}
	return nil
}

// list sees what lies in a folder, and names the folders to enter. One that is removed
// meanwhile has nothing more.
func (w *walker) list(dir *os.Root, path string) (folders []string, err error) {
	f, err := dir.Open(".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const some = 500
	for {
		names, end := f.Readdirnames(some)
		for _, name := range names {
			info, err := dir.Lstat(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it went away meanwhile
			}
			if err == nil {
				err = w.see(dir, name, path+name, info)
			}
			switch {
			case errors.Is(err, fs.SkipDir):
			case err != nil:
				return nil, err
			case info.IsDir():
				folders = append(folders, name)
			}
		}
		switch {
		case errors.Is(end, io.EOF) || errors.Is(end, fs.ErrNotExist):
			return folders, nil
		case end != nil:
			return nil, end
		}
	}
}

// enter sees what is below a folder. One that its programs may not list becomes one that can
// be listed.
func (w *walker) enter(in *os.Root, name, path string, deep int) error {
	dir, err := in.OpenRoot(name + asFolder)
	if errors.Is(err, fs.ErrPermission) && in.Chmod(name, 0o700) == nil {
		dir, err = in.OpenRoot(name + asFolder)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil // it went away meanwhile
	case err == nil && deep > maxDeep:
		err = fmt.Errorf("folders are more than %d deep", maxDeep)
		_ = dir.Close()
	case err == nil:
		defer dir.Close()
		return w.below(dir, path, deep)
	}
	if OfMachine(err) || !w.remove {
		return err
	}
	if in.RemoveAll(name) == nil {
		return nil
	}
	return err
}
