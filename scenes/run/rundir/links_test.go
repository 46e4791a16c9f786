package rundir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

// A run directory from somebody else must not lead simd, and programs of agents, to other
// folders of the operator.
func TestLinks(t *testing.T) {
	for _, at := range []string{"files", "files/s", "files/s/run", "files/s/agents", "files/s/agents/a", "artifacts", "journal", "manifest.json"} {
		dir, victim := t.TempDir(), t.TempDir()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, at)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, filepath.Join(dir, at)); err != nil {
			t.Fatal(err)
		}
		s, err := OpenStore(dir, persistence.Options{})
		if protocol.KindOf(err) != protocol.KindDenied || !strings.Contains(err.Error(), filepath.Join(dir, at)+" is a link") {
			t.Errorf("%s: %v, %v", at, s, err)
		}
		if list, err := os.ReadDir(victim); err != nil || len(list) > 0 {
			t.Errorf("%s: %v, %v", at, list, err)
		}
	}
	dir := t.TempDir()
	mine := filepath.Join(dir, "files", "s", "agents", "a")
	if err := os.MkdirAll(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(mine, "etc")); err != nil { // an agent may make links
		t.Fatal(err)
	}
	s, err := OpenStore(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
