package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"tavernsim/cmd/simd/cli"
	"tavernsim/llm/mock"
	"tavernsim/tools/sandbox"
)

func TestMain(m *testing.M) {
	if code, worker := sandbox.Reexec(os.Args); worker {
		os.Exit(code) // with the environment that it was given
	}
	if os.Getenv("SIMD_AUDIT") == "" { // programs of scripts have theirs
		_ = os.Setenv("SIMD_AUDIT", "off") // not that of whoever runs the tests
	}
	testscript.Main(m, map[string]func(){"simd": main})
}

// The scripts of testdata/script run the program as a user would. Beside the
// commands of testscript they have
//
//	code N simd …     run it and hold it to an exit code
//	hasjson PATH…     the last output is one JSON object with these members; PATH=TEXT holds their text
//	interrupted F C…  run the command, send it a Ctrl-C when the file F, in its run directory, is there
//	waitfor FILE      wait until it is there
//	readable DIR      wait until inspect reads the run in it
//	models FILE       serve a mock of models, and write the file of endpoints with it as local
//	asked N           it was asked so often, since the last time
//	answer DIR YES W  the run in DIR asks about a call: answer it, and not twice
//	samejson PATH F   the last output and the JSON file F have the same member
//
// the condition [strace] (it is installed and may trace), and in their folder the projects of testdata/tiny.txtar and of postArchive. With -short only
// those run in which something goes on beside a command: the race detector sees nothing new in the
// others, and takes minutes for them.
func TestScripts(t *testing.T) {
	served := &servers{}
	dir, files := "testdata/script", []string(nil)
	if testing.Short() {
		dir, files = "", besides(t)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GOTRACEBACK", "none")
			env.Setenv("GORACE", os.Getenv("GORACE")) // of .ci/race
			env.Setenv("SIMD_AUDIT", filepath.Join(env.WorkDir, "audit.jsonl"))
			return errors.Join(unpack("testdata/tiny.txtar", env.WorkDir), unpack(postArchive, env.WorkDir))
		},
		Condition: func(name string) (bool, error) {
			if name != "strace" {
				return false, fmt.Errorf("there is no condition %s", name)
			}
			return exec.Command("strace", "-o", os.DevNull, "true").Run() == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "answer": answerQuestion, "hasjson": hasJSON, "interrupted": interrupted, "readable": readable, "samejson": sameJSON, "waitfor": waitFor, "models": served.start, "asked": served.asked,
		},
	})
}

// besides are the scripts in which two things go on at a time, and one in which a signal comes. The tests of
// scenes/run/runner ask servers.
func besides(t *testing.T) (files []string) {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	two := regexp.MustCompile(`(?m)^(waitfor|readable|answer) |&[a-z]*&?$`)
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if two.Match(text) || filepath.Base(file) == "resume.txtar" {
			files = append(files, file)
		}
	}
	return files
}

// servers are the mocks of models of scripts, by the scripts' folders.
type servers struct{ by sync.Map }

type mocked struct {
	*mock.Server
	before int64
}

func (s *servers) start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: models FILE")
	}
	m, err := mock.New(mock.Options{Seed: 7})
	ts.Check(err)
	server := httptest.NewServer(m)
	ts.Defer(server.Close)
	s.by.Store(ts.Getenv("WORK"), &mocked{Server: m})
	text := fmt.Sprintf("endpoints: {local: {base_url: %q, free: true}}\n", server.URL+"/v1")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func (s *servers) asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked N")
	}
	v, ok := s.by.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("asked: there is no server; models FILE starts one")
	}
	m := v.(*mocked)
	now := m.Report(0).Requests
	if got := strconv.FormatInt(now-m.before, 10); got != args[0] {
		ts.Fatalf("%s requests, want %s", got, args[0])
	}
	m.before = now
}

func unpack(archive, dir string) error {
	a, err := txtar.ParseFile(archive)
	if err != nil {
		return err
	}
	for _, f := range a.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func readable(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(5 * time.Minute); ts.Exec("simd", "inspect", args[0], "-q") != nil; {
		if time.Now().After(deadline) {
			ts.Fatalf("%s cannot be read", args[0])
		}
	}
}

func answerQuestion(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: answer DIR yes|no WHY")
	}
	id := ""
	for deadline := time.Now().Add(time.Minute); id == ""; {
		ts.Check(ts.Exec("simd", "approve", args[0]))
		if id, _, _ = strings.Cut(ts.ReadFile("stdout"), " "); time.Now().After(deadline) {
			ts.Fatalf("%s asks nothing", args[0])
		}
	}
	ts.Check(ts.Exec("simd", "approve", args[0], id, args[1], "--reason", args[2], "--json"))
	hasJSON(ts, false, []string{"id=" + id, "verdict=" + args[1], "reason=" + args[2]})
	code(ts, false, []string{"6", "simd", "approve", args[0], id, "yes"})
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\nstderr: %s", got, want, ts.ReadFile("stderr"))
	}
	// Whatever is wrong, it is never a panic.
	if errs := ts.ReadFile("stderr"); strings.Contains(errs, "goroutine ") || strings.Contains(errs, "panic:") {
		ts.Fatalf("it panics: %s", errs)
	}
}

func readJSON(ts *testscript.TestScript, name string) any {
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile(name)), &v); err != nil {
		ts.Fatalf("%s is not one JSON value: %v", name, err)
	}
	return v
}

// member follows a path of names and indices.
func member(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func hasJSON(ts *testscript.TestScript, _ bool, args []string) {
	v := readJSON(ts, "stdout")
	for _, arg := range args {
		path, want, given := strings.Cut(arg, "=")
		got, ok := member(v, path)
		if !ok {
			ts.Fatalf("no member %s", path)
		}
		if given && text(got) != want {
			ts.Fatalf("%s is %s, want %s", path, text(got), want)
		}
	}
}

func sameJSON(ts *testscript.TestScript, neg bool, args []string) {
	a, ok := member(readJSON(ts, "stdout"), args[0])
	b, found := member(readJSON(ts, args[1]), args[0])
	if !ok || !found {
		ts.Fatalf("no member %s", args[0])
	}
	if same := text(a) == text(b); same == neg {
		ts.Fatalf("%s: %s and %s", args[0], text(a), text(b))
	}
}

// waitFor waits until another process has made the file and written into it.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	if !there(ts.MkAbs(args[0]), func() bool { return false }) {
		ts.Fatalf("%s did not come", args[0])
	}
}

func there(name string, given func() bool) bool {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end) && !given(); {
		if info, err := os.Stat(name); err == nil && (info.IsDir() || info.Size() > 0) {
			return true
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // another process makes the file
	}
	return false
}

// interrupted runs a program, sends it a Ctrl-C when the file is there, and wants it to
// stop for that and to say how to go on. One that was at its end before is run again.
func interrupted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupted DIR/FILE command…")
	}
	dir, _, _ := strings.Cut(args[0], "/")
	for range 10 {
		ts.Check(os.RemoveAll(ts.MkAbs(dir)))
		code, said := interruptAt(ts, ts.MkAbs(args[0]), args[1:])
		switch {
		case code == 0 || code == -1: // it did not listen any more
			continue
		case code != cli.ExitInterrupted || !strings.Contains(said, "stopping after the current moment") || !strings.Contains(said, "resume with"):
			ts.Fatalf("exit code %d; it says %s", code, said)
		}
		return
	}
	ts.Fatalf("ten times it went on to its end")
}

func interruptAt(ts *testscript.TestScript, name string, args []string) (code int, said string) {
	var errs strings.Builder
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Stderr, c.Env = ts.MkAbs("."), &errs, append(os.Environ(), "GOTRACEBACK=none")
	ts.Check(c.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	there(name, func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	_ = c.Process.Signal(os.Interrupt)
	<-ended
	return c.ProcessState.ExitCode(), errs.String()
}
