package artifact

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// Limits bound the files, in bytes.
type Limits struct {
	Each int64 // one file
	Turn int64 // all that a turn of an agent leaves, also what is there already
	Run  int64 // the folder
}

// DefaultLimits are those of a run.
func DefaultLimits() Limits { return Limits{Each: 64 << 20, Turn: 256 << 20, Run: 2 << 30} }

// Owner is the turn that leaves a file.
type Owner struct {
	Scene, Agent string
	Turn         uint64
}

// Store keeps files in one folder.
type Store struct {
	dir    string
	limits Limits

	mu    sync.Mutex        // guards the following fields
	used  int64             // bytes of the folder; -1 = not counted yet
	turns map[string]*spent // of the last turn of each agent that left something
}

type spent struct {
	turn  uint64
	bytes int64
}

// New makes the store of a folder.
func New(dir string, limits Limits) *Store {
	return &Store{dir: dir, limits: limits, used: -1, turns: map[string]*spent{}}
}

// Dir is the folder.
func (s *Store) Dir() string { return s.dir }

const partial = ".part-" // begins the name of a file that is not whole

// Put keeps a file and gives its id and size.
func (s *Store) Put(o Owner, data io.Reader) (id string, size int64, err error) {
	root, err := s.open(true)
	if err != nil {
		return "", 0, s.failed(err)
	}
	defer root.Close()
	if err := s.count(root); err != nil {
		return "", 0, s.failed(err)
	}
	name := partial + rand.Text()
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", 0, s.failed(err)
	}
	w := &writer{store: s, owner: o, file: f, sum: sha256.New()}
	_, err = io.Copy(w, struct{ io.Reader }{data})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		id = "sha256-" + hex.EncodeToString(w.sum.Sum(nil))
		err = s.name(root, name, id, w.size)
	}
	if err != nil {
		s.release(w.size)
		return "", 0, s.failed(errors.Join(err, root.Remove(name)))
	}
	return id, w.size, nil
}

// name gives a whole file its name. One that is there already stays, if it has the size.
func (s *Store) name(root *os.Root, part, id string, size int64) error {
	if info, err := root.Lstat(id); err == nil && info.Mode().IsRegular() && info.Size() == size {
		if err := root.Remove(part); err != nil {
			return err
		}
		s.release(size)
	} else if err := root.Rename(part, id); err != nil {
		return err
	}
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// writer writes a file within the bounds.
type writer struct {
	store *Store
	owner Owner
	file  *os.File
	sum   hash.Hash
	size  int64
}

func (w *writer) Write(p []byte) (int, error) {
	if w.size+int64(len(p)) > w.store.limits.Each {
		return 0, protocol.Errorf(protocol.KindLimit, "an artifact has at most %d bytes, and this one has more", w.store.limits.Each)
	}
	if err := w.store.reserve(w.owner, int64(len(p))); err != nil {
		return 0, err
	}
	w.size += int64(len(p))
	_, _ = w.sum.Write(p) // a hash has no errors
	return w.file.Write(p)
}

func (s *Store) reserve(o Owner, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := o.Scene + "\x00" + o.Agent
	t := s.turns[key]
	if t == nil || t.turn != o.Turn {
		t = &spent{turn: o.Turn}
		s.turns[key] = t
	}
	switch {
	case t.bytes+n > s.limits.Turn:
		return protocol.Errorf(protocol.KindLimit, "the artifacts of one turn have at most %d bytes together; this one does not fit any more", s.limits.Turn)
	case s.used+n > s.limits.Run:
		return protocol.Errorf(protocol.KindLimit, "the artifacts of a run have at most %d bytes together; this one does not fit any more", s.limits.Run)
	}
	t.bytes += n
	s.used += n
	return nil
}

// release takes bytes out of those of the run. The turn has made them.
func (s *Store) release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
}

// count counts the folder before the first file.
func (s *Store) count(root *os.Root) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= 0 {
		return nil
	}
	list, err := entries(root)
	if err != nil {
		return err
	}
	s.used = 0
	for _, e := range list {
		s.used += e.Size
	}
	return nil
}

func (s *Store) open(make bool) (*os.Root, error) {
	if make {
		if err := os.MkdirAll(s.dir, 0o755); err != nil {
			return nil, err
		}
	}
	return os.OpenRoot(s.dir)
}

// failed gives an error of the system its kind.
func (s *Store) failed(err error) error {
	if kind := protocol.KindOf(err); kind == protocol.KindLimit {
		return err
	}
	return protocol.Errorf(protocol.KindTransient, "artifacts %s: %w", s.dir, err)
}

// Open opens a file for reading. You must close it.
func (s *Store) Open(id string) (*os.File, error) {
	if !tool.CheckArtifact(id) {
		return nil, protocol.Errorf(protocol.KindInvalid, "%q is no artifact; want sha256- and 64 hexadecimal digits", protocol.Short(id, 80))
	}
	missing := protocol.Errorf(protocol.KindNotFound, "the artifact %s is not there: no kept fact named it when it was collected, or somebody removed it from the run directory", id)
	root, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, s.failed(err)
	}
	defer root.Close()
	info, err := root.Lstat(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing
	case err == nil && !info.Mode().IsRegular():
		return nil, protocol.Errorf(protocol.KindCorrupt, "the artifact %s is no file", id)
	}
	f, err := root.Open(id)
	if err != nil {
		return nil, s.failed(err)
	}
	return f, nil
}

// Read reads a whole file and compares it with its id.
func (s *Store) Read(id string) ([]byte, error) {
	f, err := s.Open(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, s.limits.Each+1))
	if err != nil {
		return nil, s.failed(err)
	}
	if sum := sha256.Sum256(data); "sha256-"+hex.EncodeToString(sum[:]) != id {
		return nil, protocol.Errorf(protocol.KindCorrupt, "the artifact %s is damaged: its bytes have another hash; bring it back from a copy", id)
	}
	return data, nil
}

// Entry is a file of the folder.
type Entry struct {
	ID   string
	Size int64
}

// List lists the files, sorted by id; none if there is no folder.
func (s *Store) List() ([]Entry, error) {
	root, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.failed(err)
	}
	defer root.Close()
	list, err := entries(root)
	return slices.DeleteFunc(list, func(e Entry) bool { return !tool.CheckArtifact(e.ID) }), err
}

// Empty reports whether the folder has no files, not even half written ones.
func (s *Store) Empty() (bool, error) {
	root, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, s.failed(err)
	}
	defer root.Close()
	list, err := entries(root)
	return len(list) == 0, err
}

// entries are the files of the folder, also those that are not whole.
func entries(root *os.Root) (list []Entry, err error) {
	all, err := fs.ReadDir(root.FS(), ".") // sorted
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			list = append(list, Entry{d.Name(), info.Size()})
		}
	}
	return list, nil
}

// Collect removes files that are not whole, and those that nobody names. No Put may be
// under way.
func (s *Store) Collect(named func(id string) bool) (files int, bytes int64, err error) {
	root, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, s.failed(err)
	}
	defer root.Close()
	list, err := entries(root)
	if err != nil {
		return 0, 0, s.failed(err)
	}
	for _, e := range list {
		if whole := tool.CheckArtifact(e.ID); whole && named(e.ID) || !whole && !strings.HasPrefix(e.ID, partial) {
			continue
		}
		if err := root.Remove(e.ID); err != nil {
			return files, bytes, s.failed(err)
		}
		files, bytes = files+1, bytes+e.Size
	}
	s.mu.Lock()
	s.used = -1
	s.mu.Unlock()
	return files, bytes, nil
}

// CopyTo copies a file into another store, and compares it with its id.
func (s *Store) CopyTo(to *Store, id string) error {
	f, err := s.Open(id)
	if err != nil {
		return err
	}
	defer f.Close()
	got, _, err := to.Put(Owner{Agent: id}, f)
	if err == nil && got != id {
		err = errors.Join(protocol.Errorf(protocol.KindCorrupt, "the artifact %s is damaged: its bytes have another hash", id), os.Remove(filepath.Join(to.dir, got)))
	}
	return err
}
