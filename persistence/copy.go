package persistence

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tavernsim/protocol"
)

// Copy makes a copy of the store in from, which nobody may write meanwhile: hold
// it open for reading, or be its only user. Tables and snapshots never change
// once they are written, so the copy shares them (hard links) where the file
// system can; everything else is copied. to must not exist.
func Copy(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return protocol.Errorf(protocol.KindConflict, "persistence: copy %s to %s: it exists already", from, to)
	}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return copyEntry(path, filepath.Join(to, name), d)
	})
	if err != nil {
		return protocol.Errorf(ioKind(err), "persistence: copy %s to %s: %w", from, to, err)
	}
	return nil
}

func copyEntry(from, to string, d fs.DirEntry) error {
	switch name := d.Name(); {
	case d.IsDir():
		return os.MkdirAll(to, 0o755)
	case name == "LOCK" || name == "OWNER" || strings.HasSuffix(name, partialExt) || !d.Type().IsRegular():
		return nil
	case strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, snapshotExt):
		if os.Link(from, to) == nil {
			return nil
		}
	}
	return copyFile(from, to)
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err = io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}
