package rundir_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tavernsim/scenes/run/rundir"
)

// A pipe in the place of any file of a run directory is an error, or not looked at; nobody
// waits for somebody who writes to it.
func TestPipesInARunDirectory(t *testing.T) {
	dir, _ := ended(t)
	files := []string{rundir.ToolAnswers + "/answers.jsonl", rundir.AnswersFile}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, p)
			files = append(files, name)
		}
		return err
	})
	if err != nil || len(files) < 8 {
		t.Fatal(err, files)
	}
	for _, name := range append(files, rundir.JournalDir+"/OWNER") {
		copied := filepath.Join(t.TempDir(), "run")
		pipe := filepath.Join(copied, name)
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(pipe); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(pipe), 0o755), syscall.Mkfifo(pipe, 0o644)); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, _, read := rundir.Read(copied)
			_, listed := rundir.List(t.Context(), filepath.Dir(copied))
			_, examined := rundir.Examine(t.Context(), copied, nil)
			_ = rundir.RunsBeside(copied)
			_, answers := (&rundir.Manifest{Answers: 1}).RecordedAnswers(copied)
			for _, open := range []func(string) (*rundir.Opened, error){rundir.Open, rundir.OpenForWriting} {
				if o, err := open(copied); err == nil {
					examined = errors.Join(examined, o.Close())
				}
			}
			done <- errors.Join(listed, examined)
			if answers == nil {
				t.Errorf("%s: there are answers", name)
			}
			if name == "manifest.json" && read == nil {
				t.Error("a pipe is a manifest")
			}
			close(done)
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			<-done
		case <-time.After(5 * time.Minute):
			t.Fatalf("%s is waited for", name)
		}
	}
}
