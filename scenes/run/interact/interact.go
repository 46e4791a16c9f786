// Package interact shows the open questions of a run to other processes: a folder of the run
// directory in which each is a file (docs/formats/panel.md). Answers come as orders
// (scenes/run/orders).
//
// [Desk] writes the files, [List] reads them.
//
// # Promises
//
//  1. A file is written completely or not at all, and is there while its question is open.
//     One that a kill left is written again or removed by the next process of the run.
//  2. Nobody but the owner of the run reads the files.
package interact

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tavernsim/engine/panel"
	"tavernsim/protocol"
	"tavernsim/tools/ownfile"
)

const (
	folder  = "interactions"
	ending  = ".json"
	maxFile = 4 << 20 // bytes
)

// Desk writes the open questions of the scenes of a run. It implements scenes.Desk for each
// of them.
type Desk struct {
	dir string
	log *slog.Logger
}

// NewDesk makes the desk of a run, and removes what an earlier process left.
func NewDesk(dir string, log *slog.Logger) (*Desk, error) {
	d := &Desk{dir: filepath.Join(dir, folder), log: log}
	return d, os.RemoveAll(d.dir)
}

// Close removes the folder. The questions of a run that goes on are asked again then.
func (d *Desk) Close() error { return os.RemoveAll(d.dir) }

// Of is the desk of one scene.
func (d *Desk) Of(scene string) *OfScene { return &OfScene{d, scene} }

// OfScene is the desk of one scene.
type OfScene struct {
	desk  *Desk
	scene string
}

// Asked implements scenes.Desk.
func (s *OfScene) Asked(q *panel.Asked) {
	if err := s.desk.write(s.file(q.ID), q); err != nil {
		s.desk.log.Warn("a question to people cannot be shown to other processes", "interaction", q.ID, "err", err)
	}
}

// Settled implements scenes.Desk.
func (s *OfScene) Settled(id string) {
	if err := os.Remove(s.file(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.desk.log.Warn("a question that has ended is still shown", "interaction", id, "err", err)
	}
}

// file is that of a question, whose id may have any signs.
func (s *OfScene) file(id string) string {
	sum := sha256.Sum256([]byte(s.scene + "\x00" + id))
	return filepath.Join(s.desk.dir, hex.EncodeToString(sum[:12])+ending)
}

func (d *Desk) write(name string, v any) error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(d.dir, ".question-*")
	if err != nil {
		return err
	}
	if err = errors.Join(json.NewEncoder(f).Encode(v), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// List reads the open questions of a run, the oldest first.
func List(dir string) (list []panel.Asked, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ending) || !e.Type().IsRegular() {
			continue
		}
		data, err := ownfile.ReadAll(filepath.Join(dir, folder, e.Name()), maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended just now
		}
		var q panel.Asked
		if err == nil {
			err = json.Unmarshal(data, &q)
		}
		if err != nil {
			return nil, protocol.Errorf(protocol.KindCorrupt, "%s: %w", e.Name(), err)
		}
		list = append(list, q)
	}
	slices.SortFunc(list, func(a, b panel.Asked) int {
		return cmp.Or(cmp.Compare(a.Asked, b.Asked), cmp.Compare(a.Scene, b.Scene), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}
