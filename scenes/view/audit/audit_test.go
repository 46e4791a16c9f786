package audit_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/scenes/view/audit"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools/grants"
	"tavernsim/tools/toolstest"
)

func TestMain(m *testing.M) { toolstest.Main(m, nil) }

// ran runs the post office of package inspect, and opens the run.
func ran(t *testing.T, opt runner.Options) *inspect.Scene {
	t.Helper()
	return runOf(t, "../inspect/testdata/post.txtar", "post", opt)
}

// runOf runs a project of an archive, with all grants that it needs, and opens the run.
func runOf(t *testing.T, archive, project string, opt runner.Options) *inspect.Scene {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	files, err := txtar.FS(a)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	p, err := runner.Load(filepath.Join(dir, project), true)
	if err != nil {
		t.Fatal(err)
	}
	opt.Dir, opt.Grants = filepath.Join(dir, "run"), &grants.Store{}
	for _, a := range needs.Of(p, needs.Place{}) {
		opt.Grants.Give(&a)
	}
	r, err := runner.Start(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	run, err := inspect.Open(opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := run.Scene("")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func list(t *testing.T, s *inspect.Scene, q audit.Query) (changes []inspect.Change) {
	t.Helper()
	if err := audit.List(s, q, func(c inspect.Change) error { changes = append(changes, c); return nil }); err != nil {
		t.Fatal(err)
	}
	return changes
}

// No query shows a secret, wherever it stands.
func TestHidesSecrets(t *testing.T) {
	s := ran(t, runner.Options{})
	for _, q := range []audit.Query{{}, {Path: "account"}, {Path: "account.password"}, {Path: "safe"}, {What: []string{inspect.WhatCall}}, {Agent: "ada"}} {
		text, err := json.Marshal(list(t, s, q))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"hunter2", "swordfish", `"k1"`, `"k2"`} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%+v shows %s:\n%s", q, secret, text)
			}
		}
	}
}

// The same run has the same changes, whatever was stored how.
func TestSameAnswer(t *testing.T) {
	one := list(t, ran(t, runner.Options{BatchFacts: 1, Snapshots: machines.SnapshotPolicy{Facts: 5}}), audit.Query{})
	two := list(t, ran(t, runner.Options{Workers: 3}), audit.Query{})
	if len(one) == 0 || !reflect.DeepEqual(one, two) {
		t.Errorf("%+v\n%+v", one, two)
	}
}

// Reading ends with its reader, and at the limit.
func TestEnds(t *testing.T) {
	s, enough, seen := ran(t, runner.Options{}), errors.New("enough"), 0
	err := audit.List(s, audit.Query{}, func(inspect.Change) error { seen++; return enough })
	if !errors.Is(err, enough) || seen != 1 {
		t.Errorf("%d changes, %v", seen, err)
	}
	if few := list(t, s, audit.Query{Limit: 2}); len(few) != 2 {
		t.Errorf("a limit of 2 gave %+v", few)
	}
}
