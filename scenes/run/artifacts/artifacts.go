// Package artifacts finds the artifacts that the facts of a run name: it
// removes the others, copies the named ones, and finds missing ones.
//
// # Promises
//
//  1. A file is named if its id occurs anywhere in a kept fact, or in the log of effects.
//  2. [Collect] removes files that are not named, and incomplete files that a kill left.
//  3. [Carry] copies only named files, and reports missing, damaged and unreadable ones. These are no
//     errors: the decisions of a run do not depend on them.
//
// # Not here
//
// The files themselves (tools/artifact); the facts about them (scenes/view/artifacts).
package artifacts

import (
	"bytes"
	"path/filepath"
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/tooltask"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir/parts"
	"tavernsim/tools/artifact"
)

// Dir is the folder of a run directory.
const Dir = parts.Artifacts

// Of is the store of a run directory.
func Of(runDir string) *artifact.Store {
	return artifact.New(filepath.Join(runDir, Dir), artifact.DefaultLimits())
}

// Names are ids of artifacts.
type Names map[string]bool

const prefix = "sha256-"

// Add adds the ids that stand in bytes.
func (n Names) Add(b []byte) {
	for {
		i := bytes.Index(b, []byte(prefix))
		if i < 0 {
			return
		}
		if b = b[i:]; len(b) >= idBytes && tool.CheckArtifact(string(b[:idBytes])) {
			n[string(b[:idBytes])] = true
		}
		b = b[len(prefix):]
	}
}

const idBytes = len(prefix) + 64

// Kept are the ids that the facts name with which artifacts are kept; the journal has an
// index of these.
func Kept(journal interface {
	Scan(q persistence.Query, yield func(protocol.Record) error) error
}, named Names) error {
	return journal.Scan(persistence.Query{Kinds: []string{agentfact.FactCallAnswered, tooltask.FactEnded}}, func(r protocol.Record) error {
		named.Add(r.Data)
		return nil
	})
}

// all are the ids in all facts of a store. No journal may be open.
func all(store *persistence.Store) (Names, error) {
	named := Names{}
	ids, err := store.Scenes()
	for _, id := range ids {
		if err == nil {
			err = named.scan(store, id)
		}
	}
	return named, err
}

func (n Names) scan(store *persistence.Store, id string) error {
	journal, err := store.Journal(id)
	if err != nil {
		return err
	}
	defer journal.Close()
	return journal.Scan(persistence.Query{}, func(r protocol.Record) error {
		n.Add(r.Data)
		return nil
	})
}

// Collect removes the files of a run that nobody names, if there are files at all. The
// store is that of the run, open for writing, and no scene runs.
func Collect(runDir string, store *persistence.Store) (files int, bytes int64, err error) {
	kept := Of(runDir)
	if empty, err := kept.Empty(); err != nil || empty {
		return 0, 0, err
	}
	named, err := all(store)
	if err != nil {
		return 0, 0, err
	}
	return kept.Collect(func(id string) bool { return named[id] })
}

// Report is what became of the files that are named.
type Report struct {
	Files   int   // that are there, and as they were
	Bytes   int64 // of these
	Missing []string
	Damaged []string // or cannot be read
}

// Carry copies the files of a run that the facts of another store name into that one's
// directory. No journal of the store may be open.
func Carry(from, to string, store *persistence.Store) (Report, error) {
	if empty, err := Of(from).Empty(); err != nil || empty {
		return Report{}, err
	}
	named, err := all(store)
	if err != nil {
		return Report{}, err
	}
	target := Of(to)
	return walk(Of(from), named, func(s *artifact.Store, id string) error { return s.CopyTo(target, id) })
}

// Check reads the named files of a run.
func Check(runDir string, named Names) (Report, error) {
	return walk(Of(runDir), named, func(s *artifact.Store, id string) error {
		_, err := s.Read(id)
		return err
	})
}

func walk(s *artifact.Store, named Names, each func(*artifact.Store, string) error) (r Report, err error) {
	sizes := map[string]int64{}
	list, err := s.List()
	if err != nil {
		return r, err
	}
	for _, e := range list {
		sizes[e.ID] = e.Size
	}
	for _, id := range protocol.SortedKeys(named) {
		_, there := sizes[id]
		if !there {
			r.Missing = append(r.Missing, id)
			continue
		}
		switch err := each(s, id); {
		case err == nil:
			r.Files, r.Bytes = r.Files+1, r.Bytes+sizes[id]
		case protocol.KindOf(err) == protocol.KindNotFound:
			r.Missing = append(r.Missing, id)
		case protocol.KindOf(err) == protocol.KindCorrupt:
			r.Damaged = append(r.Damaged, id)
		default:
			if _, unread := s.Read(id); unread == nil {
				return r, err
			}
			r.Damaged = append(r.Damaged, id)
		}
	}
	return r, nil
}

// Missing are the named files that are not there; their bytes are not looked at.
func Missing(runDir string, named Names) ([]string, error) {
	list, err := Of(runDir).List()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, id := range protocol.SortedKeys(named) {
		if !slices.ContainsFunc(list, func(e artifact.Entry) bool { return e.ID == id }) {
			missing = append(missing, id)
		}
	}
	return missing, nil
}
