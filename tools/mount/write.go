package mount

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"tavernsim/protocol"
)

// Bounds of a mount: its files and folders, and their bytes.
const (
	maxFiles = 10_000
	maxBytes = 256 << 20
)

// Write replaces a file of a mount as a whole, or makes it. was is the id (sha256-…) of the
// bytes that the file is expected to have; one that has others is left as it is.
func (s *Source) Write(uri string, data []byte, mode fs.FileMode, is bool, was string) error {
	return s.write(uri, data, mode, is, was, true)
}

// Replace writes a file that is there as Write does, also into a mount that has no room: what stood in its place
// must not stay.
func (s *Source) Replace(uri string, data []byte, mode fs.FileMode, was string) error {
	return s.write(uri, data, mode, true, was, false)
}

func (s *Source) write(uri string, data []byte, mode fs.FileMode, is bool, was string, bounded bool) error {
	mount, name, err := Path(uri)
	if err != nil {
		return err
	}
	if ReadOnly(mount) {
		return protocol.Errorf(protocol.KindDenied, "the files of the project and of its plugins cannot be changed")
	}
	folder := s.Folders[mount]
	if folder == "" {
		return protocol.Errorf(protocol.KindNotFound, "there is no mount %s here; it belongs to a run", mount)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return failed(uri, err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return failed(uri, err)
	}
	defer root.Close()
	more := int64(len(data))
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		more -= info.Size()
	}
	if bounded && (!is || more > 0) {
		if err := room(root, more); err != nil {
			return err
		}
	}
	if !is {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return failed(uri, err)
		}
	}
	if err := replace(root, uri, name, data, mode, is, was); err != nil {
		return err
	}
	return handOver(root, name)
}

// handOver gives a file, and the folders that it lies in, to the owner of the mount: programs of
// agents have another user than an engine that is root.
func handOver(root *os.Root, name string) error {
	info, err := root.Stat(".")
	if err != nil {
		return nil //nolint:nilerr // the file is there
	}
	uid, gid, ok := owner(info)
	if !ok || uid == os.Geteuid() || os.Geteuid() != 0 {
		return nil
	}
	for ; name != "."; name = path.Dir(name) {
		if err := root.Lchown(name, uid, gid); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed(name, err)
		}
	}
	return nil
}

// room refuses a text that adds bytes to a mount that has very much.
func room(root *os.Root, more int64) error {
	n, size := 0, more
	err := fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it went away meanwhile
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		if n++; n > maxFiles {
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case err == nil && n > maxFiles:
		return protocol.Errorf(protocol.KindLimit, "the mount has more than %d files and folders", maxFiles)
	case err == nil && size > maxBytes:
		return protocol.Errorf(protocol.KindLimit, "the mount would have more than %d bytes", int64(maxBytes))
	}
	return err
}

func replace(root *os.Root, uri, name string, data []byte, mode fs.FileMode, is bool, was string) error {
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return protocol.Errorf(protocol.KindDenied, "%q is a link, or no file; name the file itself", protocol.Short(uri, 80))
	}
	part := path.Join(path.Dir(name), ".simd-"+rand.Text())
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return failed(uri, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = unchanged(root, uri, name, is, was)
	}
	if err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		_ = root.Remove(part)
		if protocol.KindOf(err) == protocol.KindConflict {
			return err
		}
		return failed(uri, err)
	}
	return synced(root, path.Dir(name))
}

// unchanged looks once more before a file is replaced.
func unchanged(root *os.Root, uri, name string, is bool, was string) error {
	changed := protocol.Errorf(protocol.KindConflict, "%q was changed meanwhile, and is left as it is; read it again", protocol.Short(uri, 80))
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if is {
			return changed
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if !is || fmt.Sprintf("sha256-%x", sum.Sum(nil)) != was {
		return changed
	}
	return nil
}

func synced(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return nil //nolint:nilerr // the file is there; only its folder cannot be synced
	}
	return errors.Join(f.Sync(), f.Close())
}
