package rundir

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A run's name is one step of a path, whatever the ids of its scenes.
func TestNameStaysInItsFolder(t *testing.T) {
	for _, id := range []string{"/../../../evil", `..\up`, "a\x1b[2Jb\n", strings.Repeat("é", 200)} {
		name := Name(time.Unix(0, 0).UTC(), []string{id, id})
		if filepath.Base(name) != name || strings.ContainsAny(name, "/\\\x1b\n") || len(name) > 255 {
			t.Errorf("%q is called %q", id, name)
		}
	}
}
