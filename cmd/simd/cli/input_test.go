package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"tavernsim/protocol"
)

// A file that a command writes has its name when it is complete: what a kill leaves has another one. It takes no
// place of a file that came meanwhile.
func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	name, broken := filepath.Join(dir, "answers"), errors.New("no more")
	write := func(then func() error) error {
		return WriteNew(&Env{}, name, func(w io.Writer) error {
			_, err := io.WriteString(w, "half")
			if _, has := os.Stat(name); !os.IsNotExist(has) {
				t.Error("a half file has the name:", has)
			}
			return errors.Join(err, then())
		})
	}
	files := func() (n int) {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if err := write(func() error { return broken }); !errors.Is(err, broken) || files() != 0 {
		t.Error(err, files())
	}
	if err := write(func() error { return os.WriteFile(name, []byte("other"), 0o600) }); protocol.KindOf(err) != protocol.KindConflict || files() != 1 {
		t.Error(err, files())
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := write(func() error { return nil }); err != nil || files() != 1 {
		t.Error(err, files())
	}
	if err := WriteNew(&Env{}, name, func(io.Writer) error { return nil }); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
}
