//go:build amd64 || arm64

package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Promises 1 and 2.
func TestTheProgramAloneHasTheLimit(t *testing.T) {
	var was, is syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CPU, &was); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const most = 7
	p := Program{File: "/bin/sh", Dir: dir, Argv: []string{"sh", "-c", `echo $A $(ulimit -t; ulimit -Ht; cut -d' ' -f6 /proc/$$/stat) $$ >out`}, Env: []string{"A=b", "PATH=/usr/bin:/bin"}, CPU: syscall.Rlimit{Cur: most, Max: most}}
	pid, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	var w syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &w, 0, nil); err != nil || w.ExitStatus() != 0 {
		t.Fatal(w, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "out"))
	if want := fmt.Sprintf("b 7 7 %d %d\n", pid, pid); err != nil || string(text) != want {
		t.Errorf("%q, want %q, %v", text, want, err)
	}
	if err := syscall.Getrlimit(syscall.RLIMIT_CPU, &is); err != nil || is != was {
		t.Errorf("the caller has %v, %v", is, err)
	}
}

// Promise 3.
func TestWhatCannotStart(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		p    Program
		want error
	}{
		{Program{File: dir + "/none", Dir: "/"}, syscall.ENOENT},
		{Program{File: dir, Dir: "/"}, syscall.EACCES},
		{Program{File: "/bin/sh", Dir: dir + "/none"}, syscall.ENOENT},
		{Program{File: "/bin/sh", Dir: "/", Env: []string{"A=\x00"}}, syscall.EINVAL},
		{Program{File: "/bin/sh", Dir: "/", CPU: syscall.Rlimit{Cur: 2, Max: 1}}, syscall.EINVAL},
	} {
		if pid, err := c.p.Start(); !errors.Is(err, c.want) {
			t.Errorf("%+v: process %d, %v, want %v", c.p, pid, err, c.want)
		}
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}
