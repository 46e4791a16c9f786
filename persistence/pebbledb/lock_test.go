package pebbledb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Another process may have the number of this one: in containers it often has. The lock tells whether
// it is there.
func TestOwnerWithTheSameNumber(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	owner := func() (owner, unclean string) {
		t.Helper()
		r := &DB{dir: dir}
		if err := r.take(vfs.Default, true); err != nil {
			t.Fatal(err)
		}
		return r.Owner(), r.Unclean()
	}
	host, _ := os.Hostname()
	name := fmt.Sprintf("process %d on %s", os.Getpid(), host)
	if is, unclean := owner(); is != name || unclean != "" || IsWrittenBeside(dir) {
		t.Errorf("open in this process: owner %q, unclean %q", is, unclean)
	}
	// The host may get another name, and an older program left no mark.
	for _, text := range []string{strings.Replace(name, host, "elsewhere", 1) + "\n" + processMark() + "\n", name + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, ownerFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if is, unclean := owner(); is == "" || unclean != "" {
			t.Errorf("%q: owner %q, unclean %q", text, is, unclean)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if processMark() == "" {
		return // the number alone counts
	}
	if err := os.WriteFile(filepath.Join(dir, ownerFile), []byte(name+"\npid:[1] 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if is, unclean := owner(); is != "" || unclean != name || IsWrittenBeside(dir) || InUse(dir) {
		t.Errorf("left behind by another process: owner %q, unclean %q", is, unclean)
	}
}
