package answerstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// One process has a store, other folders are none, and a damaged one is corrupt.
func TestFaults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	s, err := Open(dir, nil, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, nil, nil); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	manifests, err := filepath.Glob(filepath.Join(dir, "db", "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, m := range manifests {
		if err := os.WriteFile(m, []byte("no manifest at all, but something else"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := Open(dir, nil, nil); err == nil {
		t.Log("the damage cost its answers, no more")
		_ = s.Close()
	} else if protocol.KindOf(err) != protocol.KindCorrupt {
		t.Errorf("damaged: %v", err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other, nil, nil); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "is no store of answers") {
		t.Errorf("another folder: %v", err)
	}
	if _, err := Open(filepath.Join(other, "notes.txt"), nil, nil); err == nil {
		t.Error("a file was taken for a store")
	}
}
