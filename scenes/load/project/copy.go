package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tavernsim/protocol"
)

// CopyTo writes every file that was read into a new folder, as it was read.
// The folder appears whole or not at all, and must not exist before.
func (p *Project) CopyTo(dir string) (err error) {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return protocol.Errorf(protocol.KindConflict, "project: copy to %s: it exists already; name a new folder", dir)
	}
	parent, name := filepath.Split(filepath.Clean(dir))
	if parent == "" {
		parent = "."
	}
	temp, err := os.MkdirTemp(parent, name+".part-")
	if err != nil {
		return protocol.Errorf(protocol.KindUnknown, "project: copy to %s: %w", dir, err)
	}
	defer func() {
		if err != nil {
			err = protocol.Errorf(protocol.KindUnknown, "project: copy to %s: %w", dir, errors.Join(err, os.RemoveAll(temp)))
		}
	}()
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	for _, f := range p.files {
		if err := writeFile(temp, f); err != nil {
			return err
		}
	}
	return os.Rename(temp, dir)
}

func writeFile(dir string, f File) error {
	path := filepath.Join(dir, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(f.data)
	return errors.Join(err, file.Sync(), file.Close())
}
