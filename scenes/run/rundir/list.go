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
	"tavernsim/scenes/run/rundir/parts"
)

// Listed is a run directory as a list shows it.
type Listed struct {
	Dir     string    `json:"dir"`
	Run     string    `json:"run"`
	Scenes  []string  `json:"scenes"`
	State   string    `json:"state"` // see below
	Bytes   int64     `json:"bytes"` // of all its files
	Created time.Time `json:"created"`
	Problem string    `json:"problem,omitempty"` // what is wrong with a damaged one
}

// States of a listed run.
const (
	Running   = "running"   // a process runs it
	Ended     = "ended"     // it cannot be resumed
	Resumable = "resumable" // it was interrupted or killed, or has not begun
	Damaged   = "damaged"   // something of it cannot be read, or is not there
)

// maxDepth bounds the depth of the search for runs below a folder.
const maxDepth = 4

// List finds the runs in a folder and below it, the oldest first. It opens no
// store. A folder below it that cannot be read is listed as damaged. The folder may be
// a link; links below it are not followed, so each run is listed once.
func List(ctx context.Context, folder string) ([]Listed, error) {
	runs := []Listed{}
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		root = folder // the walk says why
	}
	err = filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil || dir == root && err != nil:
			return errors.Join(ctx.Err(), err)
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was removed meanwhile
		case !d.IsDir():
			return nil
		}
		rel, _ := filepath.Rel(root, dir)
		if rel != "." { // a run that a link names is removed where it is
			dir = filepath.Join(folder, rel)
		}
		r, ok := listed(dir)
		if err != nil {
			r, ok = Listed{Dir: dir, State: Damaged, Problem: err.Error()}, true
		}
		if ok {
			runs = append(runs, r)
		}
		if ok || strings.Count(filepath.ToSlash(rel), "/") >= maxDepth-1 {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "runs below %s: %w", folder, err)
	}
	slices.SortStableFunc(runs, func(a, b Listed) int { return a.Created.Compare(b.Created) })
	return runs, nil
}

// listed reads one directory; ok is false if it is not a run directory.
func listed(dir string) (r Listed, ok bool) {
	if _, err := os.Lstat(filepath.Join(dir, parts.Manifest)); err != nil {
		return r, false
	}
	_, none := os.Stat(filepath.Join(dir, JournalDir))
	m, err := ReadManifest(dir)
	if err != nil && none != nil { // other programs have manifests, too
		return r, false
	}
	r = Listed{Dir: dir, State: Damaged, Bytes: parts.Size(dir)}
	if err == nil {
		r.Run, r.Scenes, r.Created = m.Run, m.Scenes, m.Created
		r.State, err = state(dir)
	}
	if err != nil {
		r.Problem = err.Error()
	}
	return r, true
}

// state is that of a run with a manifest; the error says what is wrong with a damaged one.
func state(dir string) (string, error) {
	if persistence.InUse(filepath.Join(dir, JournalDir)) {
		return Running, nil
	}
	s, err := readSummary(dir)
	_, none := os.Stat(filepath.Join(dir, JournalDir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Resumable, nil
	case err != nil:
		return Damaged, err
	case none != nil:
		return Damaged, protocol.Errorf(protocol.KindCorrupt, "it has a summary, and its journal is not there: %w", none)
	case s.Resumable:
		return Resumable, nil
	}
	return Ended, nil
}

// Summarized reports whether the summary of a run tells of its end. A run that was
// killed at its end has none, or that of the process before.
func Summarized(dir string) bool {
	s, err := readSummary(dir)
	return err == nil && !s.Resumable
}

// Remove removes a run that has ended, or with resumable one that can be resumed: the
// files that simd has written, and the directory if it is empty then. Remove refuses a
// run that a process runs or that is damaged.
func Remove(dir string, resumable bool) (err error) {
	if _, err := ReadManifest(dir); err != nil {
		return err
	}
	free, err := persistence.Claim(filepath.Join(dir, JournalDir))
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, free()) }()
	case !errors.Is(err, fs.ErrNotExist): // a run that has not begun has none
		return err
	}
	if s, _ := state(dir); s != Ended && !(resumable && s == Resumable) {
		return protocol.Errorf(protocol.KindConflict, "run %s is %s: it is not removed", dir, s)
	}
	if err := parts.Remove(dir); err != nil {
		return protocol.Errorf(protocol.KindTransient, "remove run %s: %w", dir, err)
	}
	_ = os.Remove(dir) // fails, and the directory stays, if it holds other files
	link := filepath.Join(filepath.Dir(dir), latestLink)
	if to, err := os.Readlink(link); err == nil && to == filepath.Base(dir) {
		_ = os.Remove(link)
	}
	return nil
}
