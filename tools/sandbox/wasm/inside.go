package wasm

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sysfs"

	wasi "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// inside is a folder that no path and no link leads out of: wazero follows both. It looks before it passes a call on,
// which is enough: a module is one thread, and nobody else changes what is in its folders.
type inside struct {
	wasi.FS
	root *os.Root
}

// open gives a folder as a file system.
func open(f Folder) (wasi.FS, error) {
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return nil, err
	}
	in := wasi.FS(inside{sysfs.DirFS(f.Path), root})
	if !f.Write {
		in = &sysfs.ReadFS{FS: in}
	}
	return in, nil
}

// leaves is EPERM for a path that leads out. follow = a link at its end is followed.
func (x inside) leaves(path string, follow bool) wasi.Errno {
	if path = strings.TrimLeft(path, "/"); path == "" {
		return 0
	}
	look := x.root.Lstat
	if follow {
		look = x.root.Stat
	}
	_, err := look(path)
	if _, system := errors.AsType[syscall.Errno](err); err == nil || system {
		return 0 // what is wrong with it the call itself says
	}
	return wasi.EPERM
}

// OpenFile implements wasi.FS.
func (x inside) OpenFile(path string, flag wasi.Oflag, perm fs.FileMode) (wasi.File, wasi.Errno) {
	if no := x.leaves(path, flag&wasi.O_NOFOLLOW == 0); no != 0 {
		return nil, no
	}
	return x.FS.OpenFile(path, flag, perm)
}

// Lstat implements wasi.FS.
func (x inside) Lstat(path string) (sys.Stat_t, wasi.Errno) {
	if no := x.leaves(path, false); no != 0 {
		return sys.Stat_t{}, no
	}
	return x.FS.Lstat(path)
}

// Stat implements wasi.FS.
func (x inside) Stat(path string) (sys.Stat_t, wasi.Errno) {
	if no := x.leaves(path, true); no != 0 {
		return sys.Stat_t{}, no
	}
	return x.FS.Stat(path)
}

// Mkdir implements wasi.FS.
func (x inside) Mkdir(path string, perm fs.FileMode) wasi.Errno {
	if no := x.leaves(path, false); no != 0 {
		return no
	}
	return x.FS.Mkdir(path, perm)
}

// Chmod implements wasi.FS.
func (x inside) Chmod(path string, perm fs.FileMode) wasi.Errno {
	if no := x.leaves(path, true); no != 0 {
		return no
	}
	return x.FS.Chmod(path, perm)
}

// Rename implements wasi.FS.
func (x inside) Rename(from, to string) wasi.Errno {
	if no := max(x.leaves(from, false), x.leaves(to, false)); no != 0 {
		return no
	}
	return x.FS.Rename(from, to)
}

// Rmdir implements wasi.FS.
func (x inside) Rmdir(path string) wasi.Errno {
	if no := x.leaves(path, false); no != 0 {
		return no
	}
	return x.FS.Rmdir(path)
}

// Unlink implements wasi.FS.
func (x inside) Unlink(path string) wasi.Errno {
	if no := x.leaves(path, false); no != 0 {
		return no
	}
	return x.FS.Unlink(path)
}

// Link implements wasi.FS.
func (x inside) Link(from, to string) wasi.Errno {
	if no := max(x.leaves(from, false), x.leaves(to, false)); no != 0 {
		return no
	}
	return x.FS.Link(from, to)
}

// Symlink implements wasi.FS. What it leads to is looked at when somebody follows it.
func (x inside) Symlink(to, path string) wasi.Errno {
	if no := x.leaves(path, false); no != 0 {
		return no
	}
	return x.FS.Symlink(to, path)
}

// Readlink implements wasi.FS.
func (x inside) Readlink(path string) (string, wasi.Errno) {
	if no := x.leaves(path, false); no != 0 {
		return "", no
	}
	return x.FS.Readlink(path)
}

// Utimens implements wasi.FS.
func (x inside) Utimens(path string, atim, mtim int64) wasi.Errno {
	if no := x.leaves(path, true); no != 0 {
		return no
	}
	return x.FS.Utimens(path, atim, mtim)
}
