// Package interact shows the open questions of a run to other processes: each is a file in a folder of the run
// directory (docs/formats/panel.md). Answers come as orders (scenes/run/orders). Answers that a deliberation
// waits for come as files.
//
// [Desk] writes the questions, [List] reads them, [Reply] answers one.
//
// # Promises
//
//  1. A file is written completely or not at all, and exists while its question is open.
//     The next process of the run rewrites or removes a file that a kill left.
//  2. Only the owner of the run can read the files.
//  3. Of several replies one counts, and only if it fits the question.
package interact

import (
	"bytes"
	"cmp"
	"context"
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
	"time"

	"tavernsim/engine/panel"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir/parts"
	"tavernsim/tools/ownfile"
)

const (
	folder  = parts.Panels
	ending  = ".json"
	replied = ".reply"
	maxFile = 4 << 20                // bytes
	look    = 200 * time.Millisecond // between two looks for a reply
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

// Ask implements scenes.Desk: it looks for replies while the question is shown.
func (s *OfScene) Ask(ctx context.Context, q *panel.Asked, fits func(*panel.Reply) error) (*panel.Reply, error) {
	file := s.file(q.ID)
	reply := strings.TrimSuffix(file, ending) + replied
	if err := s.desk.write(file, q); err != nil {
		return nil, err
	}
	defer os.Remove(reply)
	defer s.Settled(q.ID) // before it: afterwards nobody replies any more
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		r, err := readReply(reply)
		if err == nil {
			err = fits(r)
		}
		switch {
		case err == nil:
			return r, nil
		case !errors.Is(err, fs.ErrNotExist):
			s.desk.log.Warn("a reply to a question is none", "interaction", q.ID, "err", err)
			if err := os.Remove(reply); err != nil {
				return nil, err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func readReply(file string) (*panel.Reply, error) {
	data, err := ownfile.ReadAll(file, maxFile)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	d.DisallowUnknownFields()
	r := &panel.Reply{}
	return r, d.Decode(r)
}

// Reply answers a question of a run for whose answer a deliberation waits.
func Reply(dir string, q *panel.Asked, r *panel.Reply) error {
	file := fileOf(filepath.Join(dir, folder), q.Scene, q.ID)
	temp, err := written(filepath.Dir(file), r)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	if _, err := os.Stat(file); err != nil {
		return protocol.Errorf(protocol.KindNotFound, "the question %s has ended", protocol.Short(q.ID, 80))
	}
	err = os.Link(temp, strings.TrimSuffix(file, ending)+replied) // of two who reply at once, one does
	if errors.Is(err, fs.ErrExist) {
		return protocol.Errorf(protocol.KindConflict, "the question %s was answered already", protocol.Short(q.ID, 80))
	}
	return err
}

// Withdraw takes back a reply that nobody took: the process of the run has died.
func Withdraw(dir string, q *panel.Asked) error {
	err := os.Remove(strings.TrimSuffix(fileOf(filepath.Join(dir, folder), q.Scene, q.ID), ending) + replied)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *OfScene) file(id string) string { return fileOf(s.desk.dir, s.scene, id) }

// fileOf is that of a question, whose id may have any signs.
func fileOf(dir, scene, id string) string {
	sum := sha256.Sum256([]byte(scene + "\x00" + id))
	return filepath.Join(dir, hex.EncodeToString(sum[:12])+ending)
}

func (d *Desk) write(name string, v any) error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	temp, err := written(d.dir, v)
	if err != nil {
		return err
	}
	if err = os.Rename(temp, name); err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// written is a new file with a value; none is left if it fails.
func written(dir string, v any) (name string, err error) {
	f, err := os.CreateTemp(dir, ".question-*")
	if err != nil {
		return "", err
	}
	if err = errors.Join(json.NewEncoder(f).Encode(v), f.Close()); err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}

// readAsked reads a question. Whole numbers are exact.
func readAsked(data []byte, q *panel.Asked) (err error) {
	if err := json.Unmarshal(data, q); err != nil { // refuses also what stands behind the question
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(q); err != nil {
		return err
	}
	if q.Payload, err = protocol.Normalize(q.Payload); err == nil {
		q.Schema, err = protocol.Normalize(q.Schema)
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
			err = readAsked(data, &q)
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
