package parts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tavernsim/protocol"
)

// NoLinks refuses a run directory whose folders lead somewhere else: simd writes to them, and
// gives them to programs of agents. What lies in the mounts of agents is theirs; who reads
// that follows no link (tools/mount).
func NoLinks(dir string) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := noLink(dir, e); err != nil {
			return err
		}
	}
	scenes, err := os.ReadDir(filepath.Join(dir, Files))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, s := range scenes {
		scene := filepath.Join(dir, Files, s.Name())
		if err := noLink(filepath.Join(dir, Files), s); err != nil {
			return err
		}
		for _, below := range []string{scene, filepath.Join(scene, "agents")} {
			list, err := os.ReadDir(below)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			for _, e := range list {
				if err := noLink(below, e); err != nil {
					return err
				}
			}
		}
	}
	return err
}

func noLink(dir string, e os.DirEntry) error {
	if e.Type()&fs.ModeSymlink == 0 {
		return nil
	}
	return protocol.Errorf(protocol.KindDenied, "%s is a link, and what agents write would go where it leads; put the file or folder itself there, or remove it", filepath.Join(dir, e.Name()))
}
