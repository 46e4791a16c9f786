package pebbledb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tavernsim/protocol"
)

// Frozen is a directory tree as it was at one moment, for somebody who reads it
// while another process writes there: it takes no lock, writes nothing, and needs
// no permission to write. Tables are held open, so they can be read after the
// other process has removed them; logs and manifests, which grow or are written
// again, are copied into memory, at most a few memtables.
//
// You owe Close.
type Frozen struct {
	vfs.FS // of the system; every method that opens or changes a file is overridden

	files map[string]frozenFile
	dirs  map[string][]string
}

// frozenFile is a table that is held open, or a copy.
type frozenFile struct {
	held vfs.File
	data []byte
}

// freezeAttempts bounds how often Freeze begins again because the database has
// got another log or manifest meanwhile: that happens once in some 10 MiB.
const freezeAttempts = 50

// Freeze holds what is below dir, of which the folder db is a database. Where
// there is no dir, the result is empty. base nil is the operating system's.
//
// What is found is one moment, because the logs are the same ones and the manifest
// is as long as before when everything is held: a log is removed only after the
// manifest has grown, and a table that the manifest names only after that.
func Freeze(base FS, dir, db string) (*Frozen, error) {
	if base == nil {
		base = vfs.Default
	}
	for range freezeAttempts {
		f := &Frozen{FS: base, files: map[string]frozenFile{}, dirs: map[string][]string{}}
		same, err := f.freeze(base.PathJoin(dir), base.PathJoin(dir, db))
		if err == nil && same {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, openError(dir, err)
		}
	}
	return nil, protocol.Errorf(protocol.KindTransient, "journal store: %s: it changed %d times while it was opened for reading; try again", dir, freezeAttempts)
}

func (f *Frozen) freeze(dir, db string) (same bool, err error) {
	before, err := f.stamp(db)
	if err != nil {
		return false, err
	}
	if err := f.hold(dir); err != nil {
		return false, err
	}
	after, err := f.stamp(db)
	return before == after, err
}

// stamp changes whenever logs or the manifest change, but for the end of the last
// log.
func (f *Frozen) stamp(db string) (string, error) {
	names, err := f.FS.List(db)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var stamp strings.Builder
	for _, name := range names {
		switch {
		case isLog(name), strings.HasPrefix(name, "marker."):
			fmt.Fprintln(&stamp, name)
		case isManifest(name):
			info, err := f.FS.Stat(f.FS.PathJoin(db, name))
			if err == nil {
				fmt.Fprintln(&stamp, name, info.Size())
			}
		}
	}
	return stamp.String(), err
}

func isManifest(name string) bool { return strings.Contains(name, "MANIFEST") }

// hold holds the files of a directory and of those in it, other directories than
// the last one first: the database is not older than the snapshots beside it.
func (f *Frozen) hold(dir string) error {
	names, err := f.FS.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f.dirs[dir] = []string{}
	for _, base := range slices.Backward(names) {
		name := f.FS.PathJoin(dir, base)
		info, err := f.FS.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist), base == "LOCK":
			// Removed since, or the lock: to close it would give back the lock of this process.
			continue
		case err != nil:
			return err
		case info.IsDir():
			err = f.hold(name)
		default:
			err = f.holdFile(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		f.dirs[dir] = append(f.dirs[dir], base)
	}
	return nil
}

func (f *Frozen) holdFile(name string) error {
	file, err := openFile(f.FS, name)
	if err != nil {
		return err
	}
	if !isLog(name) && !isManifest(name) {
		f.files[name] = frozenFile{held: file}
		return nil
	}
	data, err := io.ReadAll(file)
	f.files[name] = frozenFile{data: data}
	return errors.Join(err, file.Close())
}

// forgetLogs gives the memory of logs back: they are read once.
func (f *Frozen) forgetLogs() {
	for name := range f.files {
		if isLog(name) {
			f.files[name] = frozenFile{}
		}
	}
}

// Close gives the files back.
func (f *Frozen) Close() (err error) {
	for _, file := range f.files {
		if file.held != nil {
			err = errors.Join(err, file.held.Close())
		}
	}
	f.files = nil
	return err
}

// Walk calls yield with every file, in no order.
func (f *Frozen) Walk(yield func(name string) error) error {
	for name := range f.files {
		if err := yield(name); err != nil {
			return err
		}
	}
	return nil
}

// Open implements vfs.FS.
func (f *Frozen) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, ok := f.files[f.FS.PathJoin(name)]
	if !ok {
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
	}
	if file.held == nil {
		return vfs.NewMemFile(file.data), nil
	}
	info, err := file.held.Stat()
	if err != nil {
		return nil, err
	}
	out := &frozenView{File: file.held, from: io.NewSectionReader(file.held, 0, info.Size())}
	for _, o := range opts {
		o.Apply(out)
	}
	return out, nil
}

// frozenView is a file that is held open, with a place of its own in it.
type frozenView struct {
	vfs.File
	from *io.SectionReader
}

func (v *frozenView) Read(p []byte) (int, error) { return v.from.Read(p) }
func (v *frozenView) Close() error               { return nil }

// Stat implements vfs.FS.
func (f *Frozen) Stat(name string) (vfs.FileInfo, error) {
	name = f.FS.PathJoin(name)
	file, ok := f.files[name]
	switch {
	case ok && file.held != nil:
		return file.held.Stat()
	case ok:
		return vfs.NewMemFile(file.data).Stat()
	case f.dirs[name] != nil:
		return f.FS.Stat(name)
	}
	return nil, &os.PathError{Op: "stat", Path: name, Err: os.ErrNotExist}
}

// List implements vfs.FS.
func (f *Frozen) List(dir string) ([]string, error) {
	names, ok := f.dirs[f.FS.PathJoin(dir)]
	if !ok {
		return nil, &os.PathError{Op: "list", Path: dir, Err: os.ErrNotExist}
	}
	return names, nil
}

// Lock implements vfs.FS: nobody is kept from anything.
func (f *Frozen) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// What follows implements vfs.FS by refusing it.

func (f *Frozen) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, f.refuse("create", name)
}

func (f *Frozen) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, f.refuse("open to write", name)
}

func (f *Frozen) ReuseForWrite(name, _ string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, f.refuse("write", name)
}
func (f *Frozen) Link(name, _ string) error                 { return f.refuse("link", name) }
func (f *Frozen) Remove(name string) error                  { return f.refuse("remove", name) }
func (f *Frozen) RemoveAll(name string) error               { return f.refuse("remove", name) }
func (f *Frozen) Rename(name, _ string) error               { return f.refuse("rename", name) }
func (f *Frozen) MkdirAll(name string, _ os.FileMode) error { return f.refuse("make", name) }

func (f *Frozen) refuse(op, name string) error {
	return &os.PathError{Op: op, Path: name, Err: syscall.EROFS}
}
