package rundir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/artifacts"
)

// Listed is a run directory as a list shows it.
type Listed struct {
	Dir     string    `json:"dir"`
	Run     string    `json:"run"`
	Scenes  []string  `json:"scenes"`
	State   string    `json:"state"` // see below
	Bytes   int64     `json:"bytes"` // of all its files
	Created time.Time `json:"created"`
}

// States of a listed run.
const (
	Running   = "running"   // a process runs it
	Ended     = "ended"     // it cannot be resumed
	Resumable = "resumable" // it was interrupted or killed, or has not begun
	Damaged   = "damaged"   // its manifest or its summary cannot be read
)

// maxDepth bounds the depth of the search for runs below a folder.
const maxDepth = 4

// List finds the runs in a folder and below it, the oldest first. It opens no
// store.
func List(ctx context.Context, folder string) ([]Listed, error) {
	runs := []Listed{}
	err := filepath.WalkDir(folder, func(dir string, d fs.DirEntry, err error) error {
		if err := errors.Join(err, ctx.Err()); err != nil || !d.IsDir() {
			return err
		}
		if r, ok := listed(dir); ok {
			runs = append(runs, r)
			return fs.SkipDir
		}
		rel, err := filepath.Rel(folder, dir)
		if err == nil && strings.Count(filepath.ToSlash(rel), "/") >= maxDepth-1 {
			err = fs.SkipDir
		}
		return err
	})
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "runs below %s: %w", folder, err)
	}
	slices.SortStableFunc(runs, func(a, b Listed) int { return a.Created.Compare(b.Created) })
	return runs, nil
}

// listed reads one directory; ok is false if it is not a run directory.
func listed(dir string) (r Listed, ok bool) {
	info, err := os.Stat(filepath.Join(dir, JournalDir))
	_, none := os.Stat(filepath.Join(dir, manifestFile))
	if err != nil || none != nil || !info.IsDir() {
		return r, false
	}
	r = Listed{Dir: dir, State: Damaged, Bytes: bytesIn(dir)}
	m, err := ReadManifest(dir)
	if err != nil {
		return r, true
	}
	r.Run, r.Scenes, r.Created, r.State = m.Run, m.Scenes, m.Created, state(dir)
	return r, true
}

func state(dir string) string {
	if persistence.InUse(filepath.Join(dir, JournalDir)) {
		return Running
	}
	s, err := readSummary(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && s.Resumable:
		return Resumable
	case err != nil:
		return Damaged
	}
	return Ended
}

// Summarized reports whether the summary of a run tells of its end. A run that was
// killed at its end has none, or that of the process before.
func Summarized(dir string) bool {
	s, err := readSummary(dir)
	return err == nil && !s.Resumable
}

// bytesIn is the size of the files in a directory; what cannot be read counts
// nothing.
func bytesIn(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// Remove removes a run that has ended, or with resumable one that can be resumed: the
// files that simd has written, and the directory if it is empty then. Remove refuses a
// run that a process runs or that is damaged.
func Remove(dir string, resumable bool) (err error) {
	free, err := persistence.Claim(filepath.Join(dir, JournalDir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, free()) }()
	if _, err := ReadManifest(dir); err != nil {
		return err
	}
	if s := state(dir); s != Ended && !(resumable && s == Resumable) {
		return protocol.Errorf(protocol.KindConflict, "run %s is %s: it is not removed", dir, s)
	}
	// The manifest goes first: what an interrupted removal leaves is not a run.
	for _, name := range []string{manifestFile, summaryFile, inputsDir, editionsDir, JournalDir, AnswersFile, artifacts.Dir, FilesDir} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return protocol.Errorf(protocol.KindTransient, "remove run %s: %w", dir, err)
		}
	}
	_ = os.Remove(dir) // fails, and the directory stays, if it holds other files
	link := filepath.Join(filepath.Dir(dir), latestLink)
	if to, err := os.Readlink(link); err == nil && to == filepath.Base(dir) {
		_ = os.Remove(link)
	}
	return nil
}
