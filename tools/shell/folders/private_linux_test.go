//go:build amd64 || arm64

package folders

import (
	"os"
	"testing"
)

// What a killed process left is removed; what a living one holds, or another user has, is not.
func TestLeftFoldersAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	live, err := NewPrivate(ForShell)
	if err != nil {
		t.Fatal(err)
	}
	left, err := NewPrivate(ForCall)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left.Path+"/1", []byte("script"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(live.Path, os.TempDir()+"/simd-shell-link"); err != nil {
		t.Fatal(err)
	}
	_ = left.lock.Close() // its process is gone
	RemoveLeft(os.Geteuid() + 1)
	if _, err := os.Stat(left.Path); err != nil {
		t.Error(err)
	}
	RemoveLeft(os.Geteuid())
	if _, err := os.Stat(left.Path); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
	if _, err := os.Stat(os.TempDir() + "/simd-shell-link"); err != nil {
		t.Error(err)
	}
	if err := live.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(live.Path); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}
