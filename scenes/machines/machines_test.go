package machines_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/setup"
)

// town is the town after its run, and every fact of it.
func town(t *testing.T) (made *setup.Scene, facts []protocol.Record, ends []uint64) {
	t.Helper()
	s := scenestest.New(t, scenestest.Town(t), "")
	s.Run(t, scenestest.Settings{})
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Read(1, func(r protocol.Record) error {
			r.Data = bytes.Clone(r.Data)
			facts = append(facts, r)
			return nil
		})
		if err == nil {
			err = j.Waves(1, func(w persistence.Wave) error { ends = append(ends, w.Last); return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return s.Made(t, scenestest.Settings{}), facts, ends
}

func begin(t *testing.T, made *setup.Scene) *machines.State {
	t.Helper()
	s, err := machines.New(made)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func hash(t *testing.T, s *machines.State) string {
	t.Helper()
	h, err := s.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// restored is a state put together anew from what a snapshot of it holds.
func restored(t *testing.T, made *setup.Scene, s *machines.State) *machines.State {
	t.Helper()
	other := begin(t, made)
	err := s.Parts(func(name string, raw []byte) {
		if err := other.Load(name, bytes.Clone(raw)); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// Promise 1: the facts behind a snapshot lead to the same state, wherever it is.
func TestASnapshotAndItsTail(t *testing.T) {
	made, facts, ends := town(t)
	whole, at := begin(t, made), 0
	want := begin(t, made)
	for _, r := range facts {
		if err := want.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	for i, end := range ends {
		for ; at < len(facts) && facts[at].Seq <= end; at++ {
			if err := whole.Apply(facts[at]); err != nil {
				t.Fatal(err)
			}
		}
		if i%7 != 0 {
			continue
		}
		other := restored(t, made, whole)
		if hash(t, other) != hash(t, whole) {
			t.Errorf("wave %d: the restored state is another", i+1)
		}
		for _, r := range facts[at:] {
			if err := other.Apply(r); err != nil {
				t.Fatal(err)
			}
		}
		if hash(t, other) != hash(t, want) {
			t.Errorf("from a snapshot of wave %d the end is another", i+1)
		}
	}
}

// TestPartsHaveOneNameEach: a part is found by its name alone, and the names are
// those under which a snapshot holds them.
func TestPartsHaveOneNameEach(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	settings := scenestest.Settings{Snapshots: 1}
	s.Run(t, settings)
	var got, want []string
	s.Journal(t, func(j *persistence.Journal) {
		snap, err := j.LatestSnapshot()
		if err == nil {
			err = snap.Read(func(name string, _ []byte) error { want = append(want, name); return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	err := begin(t, s.Made(t, settings)).Parts(func(name string, _ []byte) { got = append(got, name) })
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("parts %v, a snapshot has %v", got, want)
	}
}

// Promise 2: nothing is imported that could bring in a clock, chance, a model or a
// metric, and of the clock's package only its durations are used.
func TestNothingFromOutside(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if path := strings.Trim(i.Path.Value, `"`); !pure(path) || path == "time" && i.Name != nil {
				t.Errorf("%s imports %s", e.Name(), path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			use, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if of, ok := use.X.(*ast.Ident); ok && of.Name == "time" && of.Obj == nil && use.Sel.Name != "Duration" {
				t.Errorf("%s uses time.%s", e.Name(), use.Sel.Name)
			}
			return true
		})
	}
}

// pure packages give the same answer to the same question.
func pure(path string) bool {
	return slices.Contains([]string{"cmp", "crypto/sha256", "encoding/hex", "fmt", "slices", "time", "github.com/tinylib/msgp/msgp",
		"tavernsim/protocol", "tavernsim/scenes/project", "tavernsim/scenes/setup"}, path) || strings.HasPrefix(path, "tavernsim/engine/")
}

// Promise 3: the hash changes with every part of the state, and is the same for
// the same facts: of all waves no two share one, and none that differs in one part.
func TestTheHashTellsStatesApart(t *testing.T) {
	made, facts, ends := town(t)
	s, twin := begin(t, made), begin(t, made)
	seen, parts, changed := map[string]int{}, map[string]string{}, map[string]bool{}
	last, at := "", 0
	for i, end := range ends {
		for ; at < len(facts) && facts[at].Seq <= end; at++ {
			if err := s.Apply(facts[at]); err != nil {
				t.Fatal(err)
			}
			if err := twin.Apply(facts[at]); err != nil {
				t.Fatal(err)
			}
			now, differs := hash(t, s), false
			err := s.Parts(func(name string, raw []byte) {
				if old, known := parts[name]; known && old != string(raw) {
					differs, changed[name] = true, true
				}
				parts[name] = string(raw)
			})
			if err != nil {
				t.Fatal(err)
			}
			if last != "" && differs == (now == last) {
				t.Errorf("fact %d (%s): the parts differ: %v, the hash is %s, before %s", facts[at].Seq, facts[at].Kind, differs, now, last)
			}
			last = now
		}
		if hash(t, twin) != last {
			t.Errorf("wave %d: two folds of the same facts differ", i+1)
		}
		if other, ok := seen[last]; ok {
			t.Errorf("waves %d and %d have one hash", other, i+1)
		}
		seen[last] = i + 1
	}
	for _, name := range []string{machines.Agenda, setup.ActorScene, setup.ActorWorld, setup.ActorKnowledge, setup.ActorEvents} {
		if !changed[name] {
			t.Errorf("%s never changed: nothing is tested", name)
		}
	}
}
