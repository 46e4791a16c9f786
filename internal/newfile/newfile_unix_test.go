//go:build unix

package newfile

import (
	"path/filepath"
	"syscall"
	"testing"
)

// The user's mask decides who may read a new file.
func TestMask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	name := filepath.Join(t.TempDir(), "answers")
	if err := begun(t, name, "one", false).Keep(); err != nil {
		t.Fatal(err)
	}
	has(t, name, "one", 0o600)
}
