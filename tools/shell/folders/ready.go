package folders

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tavernsim/tools/mount"
	"tavernsim/tools/sandbox"
)

// Ready makes the folder of a mount ready. An empty Host = there is none. most bounds the files
// that change their owner.
func Ready(name, host string, most int) (sandbox.Mount, error) {
	m := sandbox.Mount{Host: host, Inside: mount.Inside + name, Write: name != mount.Project}
	if host == "" {
		return m, nil
	}
	abs, err := filepath.Abs(host)
	if err != nil {
		return m, err
	}
	if m.Host = abs; !m.Write {
		if _, err := os.Stat(abs); errors.Is(err, fs.ErrNotExist) {
			m.Host = ""
		}
		return m, nil
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return m, err
	}
	return m, own(abs, most)
}

// own gives a folder, and what is in it, to the user of programs, if that is another one
// than the engine's.
func own(dir string, most int) error {
	uid, gid := sandbox.HostIDs()
	if uid == os.Geteuid() {
		return nil
	}
	root, err := os.OpenRoot(dir) // programs of other sessions may change what is in it
	if err != nil {
		return err
	}
	defer root.Close()
	n := 0
	return fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if n++; err != nil || n > most {
			return nil //nolint:nilerr // it went away meanwhile
		}
		if err := root.Lchown(path, uid, gid); path == "." {
			return err
		}
		return nil
	})
}
