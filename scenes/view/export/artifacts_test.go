package export

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools"
	"tavernsim/tools/artifact"
)

func paintersRun(t testing.TB, over ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(scenestest.Painters(t, over...), runner.Options{Dir: dir, Services: map[string]tools.Executor{"painter": tools.Func(scenestest.Painting)}})
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

const waiting = `
-- tools/paint.tool.yaml --
id: paint
parameters: {properties: {turn: {type: integer}}, required: [turn]}
implementation: {type: service, name: painter}
execution: {mode: async, repeat: free, latency: 1500ms}
`

// Artifacts of a call of an asynchronous tool are those of the agent that made it.
func TestFilesOfTasks(t *testing.T) {
	dir := paintersRun(t, waiting)
	s := openRun(t, dir)
	files, err := artifacts.Of(dir).List()
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, agents := range [][]string{nil, {"ada"}} {
		o := Options{RunDir: dir, Agents: agents}
		rows := string(written(t, s, "artifacts", CSV, o))
		named := strings.Count(rows, ",ada,paint,") // the last task may have left files and not ended
		if named < len(files)-2 || named > len(files) || strings.Count(rows, "\n") != 1+named {
			t.Errorf("%v: want up to %d rows: %s", agents, len(files), rows)
		}
		if n, err := Files(s, o, filepath.Join(t.TempDir(), "files"), false); n != named || err != nil {
			t.Error(n, err)
		}
	}
	rows := string(written(t, s, "artifacts", CSV, Options{RunDir: dir}))
	at := slices.IndexFunc(files, func(f artifact.Entry) bool { return strings.Contains(rows, f.ID) })
	if err := os.WriteFile(filepath.Join(dir, artifacts.Dir, files[at].ID), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := rundir.Examine(t.Context(), dir, nil)
	if err != nil || d.Healthy {
		t.Errorf("a damaged artifact of a task is not found: %+v %v", d, err)
	}
}
