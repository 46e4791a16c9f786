// Package parts lists the files and folders of a run directory, for the code that makes, repairs or
// removes one.
//
// [Free] checks a folder before a run directory is made there, [Remove] removes the files of simd, [Carry] copies
// the files that a repaired copy keeps unchanged, [NoLinks] refuses a directory with links.
//
// # Not here
//
// The contents of the files (docs/formats/run-directory.md): their writers know them.
package parts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"tavernsim/protocol"
	"tavernsim/tools/ownfile"
)

// Files and folders of a run directory.
const (
	Manifest    = "manifest.json"
	Summary     = "summary.json"
	Inputs      = "inputs"
	Editions    = "editions"
	Journal     = "journal"
	Artifacts   = "artifacts"
	Answers     = "answers.jsonl"
	ToolAnswers = "tool_answers"
	Files       = "files"
	Orders      = "orders.json"
	LaterOrders = "orders.jsonl"
	Letters     = "orders"
	Panels      = "interactions"
	Interviews  = "interviews.jsonl"
	Approvals   = "approvals"
	Passive     = "passive-*" // a pattern of os.CreateTemp, as the following are
	Trial       = ".try-*"
	Copies      = Inputs + ".part-*" // inputs that are being copied (project.CopyTo)
	NewOrders   = ".order-*"
	New         = ".tmp" // ends the name of a file that is being written
)

// part is a file or folder that simd writes into a run directory.
type part struct {
	name    string // a pattern of path.Match
	carried bool   // a mended copy has it as it is
}

// all are those of every run directory. The manifest is the first: what an interrupted removal
// leaves is no run.
func all() []part {
	return []part{
		{Manifest, false}, {Summary, false}, {Inputs, false}, {Editions, false}, {Journal, false}, {Artifacts, false},
		{Answers, true}, {ToolAnswers, true}, {Files, true}, {Orders, true}, {LaterOrders, true}, {Interviews, true},
		{Letters, false}, {Panels, false}, {Approvals, false}, // to and from a process that runs it
		{Copies, false}, {Passive, false}, {Trial, false}, {NewOrders, false}, {Manifest + New, false}, {Summary + New, false}, // that a kill left
	}
}

// Free refuses a folder in which there is something. undo removes what a run directory has, and
// the folder unless it was there before.
func Free(dir string) (undo func() error, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() error { err := Remove(dir); _ = os.Remove(dir); return err }, nil // others may have put something there
	case err != nil:
		return nil, protocol.Errorf(protocol.KindConflict, "run directory %s: %w", dir, err)
	case begun(entries):
		return nil, protocol.Errorf(protocol.KindConflict, "run directory %s has the beginning of a run, and whoever made it ended before it was whole, or is still at it; remove the directory, or name another", dir)
	case len(entries) > 0:
		return nil, protocol.Errorf(protocol.KindConflict, "run directory %s is not empty; name another, or, if it has a run, go on with that: simd run --resume %[1]s", dir)
	}
	return func() error { return Remove(dir) }, nil
}

// Begun reports whether a folder has a part of a run directory, and the manifest, which is written last, is not there.
func Begun(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && begun(entries)
}

func begun(entries []fs.DirEntry) bool {
	for _, e := range entries {
		if e.Name() == Manifest || !slices.ContainsFunc(all(), func(p part) bool { is, _ := path.Match(p.name, e.Name()); return is }) {
			return false
		}
	}
	return len(entries) > 0
}

// Remove removes the parts of a run directory. Other files stay.
func Remove(dir string) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, p := range all() {
		for _, e := range list {
			if is, _ := path.Match(p.name, e.Name()); !is {
				continue
			}
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Size is the size of the files in a directory; what cannot be read counts
// nothing.
func Size(dir string) (n int64) {
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

// Carry copies the parts that a mended copy of a run has as they are. It leaves out what cannot be
// read, and says of each what and why. The error is one of writing.
func Carry(from, to string) (left []string, err error) {
	c := &carrying{from: from, to: to}
	for _, p := range all() {
		if !p.carried {
			continue
		}
		if err := filepath.WalkDir(filepath.Join(from, p.name), c.one); err != nil {
			return c.left, err
		}
	}
	return c.left, nil
}

type carrying struct {
	from, to string
	left     []string
}

// one copies a file, or makes a folder.
func (c *carrying) one(name string, d fs.DirEntry, err error) error {
	rel, far := filepath.Rel(c.from, name)
	switch {
	case far != nil:
		return far
	case errors.Is(err, fs.ErrNotExist):
		return nil // the run has none
	case err != nil:
		return c.leave(rel, err)
	}
	info, err := d.Info()
	if err != nil {
		return c.leave(rel, err)
	}
	to := filepath.Join(c.to, rel)
	switch {
	case d.IsDir():
		return os.Mkdir(to, info.Mode().Perm()|0o700)
	case d.Type() == fs.ModeSymlink:
		where, err := os.Readlink(name)
		if err != nil {
			return c.leave(rel, err)
		}
		return os.Symlink(where, to)
	}
	in, err := ownfile.Open(name)
	if err != nil {
		return c.leave(rel, err)
	}
	defer in.Close()
	return c.copy(rel, &reader{file: in}, to, info.Mode().Perm())
}

func (c *carrying) copy(rel string, in *reader, to string, mode fs.FileMode) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Sync(), out.Close())
	if in.failed != nil {
		return errors.Join(os.Remove(to), c.leave(rel, in.failed))
	}
	return err
}

// leave notes what is left out.
func (c *carrying) leave(rel string, why error) error {
	c.left = append(c.left, fmt.Sprintf("%s (%v)", filepath.ToSlash(rel), why))
	return nil
}

// reader tells errors of reading from those of writing.
type reader struct {
	file   *os.File
	failed error
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.file.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return n, err
}

// WriteFile writes a file whole or not at all. It outlives a loss of power.
func WriteFile(path string, data []byte) error {
	tmp := path + New
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder lets what was made or renamed in a folder outlive a loss of power, where a system can.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrPermission) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
