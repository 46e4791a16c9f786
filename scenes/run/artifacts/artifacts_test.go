package artifacts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/tool"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/tools/artifact"
)

// Promise 1: an id is found wherever it stands.
func TestNames(t *testing.T) {
	id := func(c string) string { return "sha256-" + strings.Repeat(c, 64) }
	for text, want := range map[string][]string{
		"":                                      nil,
		"sha256-":                               nil,
		"x" + id("a") + "b" + id("b") + id("c"): {id("a"), id("b"), id("c")},
		"sha256-sha256-" + strings.Repeat("d", 64): {id("d")},
		id("E"):      nil,
		id("f")[:70]: nil,
		"artifact:" + id("0") + " and " + id("0"): {id("0")},
	} {
		n := Names{}
		n.Add([]byte(text))
		if got := protocol.SortedKeys(n); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// store makes a run directory with three artifacts: one is named by the fact of a call,
// one by an answer in the log of effects, one by nobody.
func store(t *testing.T) (dir string, s *persistence.Store, ids []string) {
	t.Helper()
	dir = t.TempDir()
	for _, text := range []string{"called", "answered", "nobody's"} {
		id, _, err := Of(dir).Put(artifact.Owner{}, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	s, err := persistence.Open(filepath.Join(dir, "journal"), persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	fact := &agentfact.CallAnswered{Kind: "tool", Request: 1, Artifacts: []tool.Artifact{{ID: ids[0], Size: 6}}}
	for scene, data := range map[string][]byte{"s": fact.AppendMsg(nil), outside.JournalID("s"): []byte("\xa9" + ids[1])} {
		j, err := s.Journal(scene)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Append(1, "a", agentfact.FactCallAnswered, data); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir, s, ids
}

// Promises 1 and 2.
func TestCollect(t *testing.T) {
	dir, s, ids := store(t)
	half := filepath.Join(dir, Dir, ".part-x")
	if err := os.WriteFile(half, []byte("1234"), 0o644); err != nil {
		t.Fatal(err)
	}
	files, bytes, err := Collect(dir, s)
	if files != 2 || bytes != 4+8 || err != nil {
		t.Error(files, bytes, err)
	}
	for i, want := range []bool{true, true, false} {
		if _, err := Of(dir).Read(ids[i]); (err == nil) != want {
			t.Errorf("%d: %v", i, err)
		}
	}
	if files, _, err := Collect(t.TempDir(), nil); files != 0 || err != nil {
		t.Error(files, err) // without files no journal is read
	}
}

// Promise 3.
func TestCarry(t *testing.T) {
	dir, s, ids := store(t)
	to := t.TempDir()
	r, err := Carry(dir, to, s)
	if err != nil || r.Files != 2 || r.Bytes != 6+8 || len(r.Missing)+len(r.Damaged) > 0 {
		t.Errorf("%+v %v", r, err)
	}
	if list, err := Of(to).List(); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
	if err := os.Remove(filepath.Join(dir, Dir, ids[0])); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, Dir, ids[1]), []byte("changed!"), 0o644); err != nil {
		t.Fatal(err)
	}
	to = t.TempDir()
	if r, err = Carry(dir, to, s); err != nil || !slices.Equal(r.Missing, ids[:1]) || !slices.Equal(r.Damaged, ids[1:2]) || r.Files != 0 {
		t.Errorf("%+v %v", r, err)
	}
	if list, err := Of(to).List(); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	named := Names{ids[0]: true, ids[1]: true}
	if missing, err := Missing(dir, named); err != nil || !slices.Equal(missing, ids[:1]) {
		t.Error(missing, err)
	}
	if r, err := Check(dir, named); err != nil || len(r.Damaged) != 1 || len(r.Missing) != 1 {
		t.Errorf("%+v %v", r, err)
	}
}
