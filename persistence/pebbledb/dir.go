package pebbledb

import "errors"

// MakeDir makes a directory and what is missing above it, and syncs what it
// changed: a loss of power does not take back a directory in which something
// was synced.
func MakeDir(fsys FS, dir string) error {
	var above []string // directories that got a new entry, innermost first
	for d := dir; !exists(fsys, d); {
		parent := fsys.PathDir(d)
		if parent == d {
			break
		}
		above, d = append(above, parent), parent
	}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range above {
		if err := SyncDir(fsys, d); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir syncs the entries of a directory.
func SyncDir(fsys FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func exists(fsys FS, name string) bool {
	_, err := fsys.Stat(name)
	return err == nil
}
