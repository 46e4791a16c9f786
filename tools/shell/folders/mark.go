package folders

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools/ownfile"
)

// Mark says that programs of a session have secrets, and that nobody has looked at what they
// write since a moment. It is a file while the session lives: what a killed process leaves
// is cleaned by the next one.
type Mark struct {
	Folders []string  `json:"folders"` // below the folder of the files of the run
	Since   time.Time `json:"since"`
	Names   []string  `json:"names"` // of the secrets
}

const (
	marked  = ".unclean.json"
	maxMark = 1 << 20 // bytes
)

// Note writes the mark of a session, in the folder of marks, or removes it if it has no moment.
// Folders lie below files.
func (m Mark) Note(dir, files, session string) error {
	name := filepath.Join(dir, session+marked)
	if m.Since.IsZero() {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	m.Folders = slices.Clone(m.Folders)
	for i, folder := range m.Folders {
		abs, err := filepath.Abs(files)
		if err == nil {
			m.Folders[i], err = filepath.Rel(abs, folder)
		}
		if err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// Marked are the sessions that have marks in dir, as [Mark.Note] was told of them.
func Marked(dir string) (sessions []string) {
	list, _ := fs.Glob(os.DirFS(dir), "*"+marked) // the pattern is sound
	for _, name := range list {
		sessions = append(sessions, strings.TrimSuffix(name, marked))
	}
	return sessions
}

// Clean removes what killed processes left in folders that have marks in dir: files with a
// secret, whenever they changed, and, if a secret has no value any more, all files that changed
// since the mark.
func Clean(dir, files string, known func(name string) bool, has func(text string) bool) (removed Swept, err error) {
	for _, session := range Marked(dir) {
		more, err := cleanOne(dir, files, session, known, has, true)
		if removed.add(more); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

func cleanOne(dir, files, session string, known func(name string) bool, has func(text string) bool, whole bool) (removed Swept, err error) {
	name := filepath.Join(dir, session+marked)
	failed := func(kind protocol.ErrorKind, err error) error {
		return protocol.Errorf(kind, "%s: %w; it says which files may have a secret that a killed process left: look at the files in these folders, then remove it", name, err)
	}
	m, err := readMark(name)
	if errors.Is(err, fs.ErrNotExist) {
		return removed, nil
	}
	if err != nil {
		return removed, failed(protocol.KindCorrupt, err)
	}
	for i, folder := range m.Folders {
		m.Folders[i] = filepath.Join(files, folder)
	}
	m.Names = slices.DeleteFunc(m.Names, known)
	if len(m.Names) > 0 && !whole {
		return removed, failed(protocol.KindDenied, fmt.Errorf("programs had the secrets %s, which --secrets does not give", strings.Join(m.Names, ", ")))
	}
	removed, err = Sweep(m.Folders, time.Time{}, has)
	if len(m.Names) > 0 {
		more, failed := Sweep(m.Folders, m.Since, nil)
		removed.add(more)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return removed, failed(protocol.KindTransient, nameless(err))
	}
	return removed, os.Remove(name)
}

func readMark(name string) (m Mark, err error) {
	f, err := ownfile.Open(name)
	if err != nil {
		return m, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return m, err
	}
	if info.Size() > maxMark {
		return m, errors.New("it is too large")
	}
	if err := json.NewDecoder(f).Decode(&m); err != nil {
		return m, err
	}
	for _, folder := range m.Folders {
		if !filepath.IsLocal(folder) || folder == "." {
			return m, errors.New("it names a folder that is none of the run")
		}
	}
	if m.Since.IsZero() || len(m.Folders) == 0 {
		return m, errors.New("it names no folder or moment")
	}
	return m, nil
}

// Begins notes in dir that a session begins, and reports whether it had begun before. files is the
// folder around it.
func Begins(files, dir, session string) (before bool) {
	name := filepath.Join(dir, session)
	if _, err := os.Stat(name); err == nil {
		return true
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(files, 0o700)); err == nil { // programs can make files that others may start with the engine's rights
		_ = os.WriteFile(name, nil, 0o644) // without it a lost session is a new one
	}
	return false
}
