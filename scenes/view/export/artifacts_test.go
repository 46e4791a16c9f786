package export

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools"
)

func paintersRun(t testing.TB) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(scenestest.Painters(t), runner.Options{Dir: dir, Services: map[string]tools.Executor{"painter": tools.Func(scenestest.Painting)}})
	if err == nil {
		_, err = r.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The files of the table go with it, and a missing one is a row only.
func TestFiles(t *testing.T) {
	dir, to := paintersRun(t), filepath.Join(t.TempDir(), "files")
	s := openRun(t, dir)
	list, err := artifacts.Of(dir).List()
	if err != nil || len(list) != 24 {
		t.Fatal(list, err)
	}
	if err := os.Remove(filepath.Join(dir, artifacts.Dir, list[0].ID)); err != nil {
		t.Fatal(err)
	}
	rows := string(written(t, s, "artifacts", CSV, Options{RunDir: dir}))
	if strings.Count(rows, "\n") != 25 || strings.Count(rows, ",false") != 1 || strings.Count(rows, ",paint,") != 24 {
		t.Error(rows)
	}
	o := Options{RunDir: dir, Agents: []string{"ada"}}
	if n, err := Files(s, o, to, false); n != 23 || err != nil {
		t.Error(n, err)
	}
	data, err := os.ReadFile(filepath.Join(to, list[1].ID))
	if want, broke := artifacts.Of(dir).Read(list[1].ID); err != nil || broke != nil || string(data) != string(want) {
		t.Error(err, broke)
	}
	if _, err := Files(s, o, to, false); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
	if n, err := Files(s, Options{RunDir: dir, Span: inspect.Span{Since: "wave:12"}}, to, true); n >= 23 || n == 0 || err != nil {
		t.Error(n, err)
	}
	if err := os.WriteFile(filepath.Join(dir, artifacts.Dir, list[1].ID), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if n, err := Files(s, o, to, true); n != 22 || err != nil { // another size: not there
		t.Error(n, err)
	}
}
