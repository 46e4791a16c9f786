//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"tavernsim/scenes/run/rundir"
)

// A command that reads what another process runs has one core, and each of its threads
// the lowest priority; one that reads what nobody runs keeps both. The children are the
// processes: the test itself keeps its priority.
func TestGiveWay(t *testing.T) {
	if dir := os.Getenv("SIMD_TEST_HOLD"); dir != "" {
		hold(t, dir)
		return
	}
	if dir := os.Getenv("SIMD_TEST_LOOK"); dir != "" {
		giveWay([]string{dir})
		fmt.Printf("cores %d lowest %v\n", runtime.GOMAXPROCS(0), atLowest(t))
		return
	}
	run := postRun(t)
	alone := child(t, "SIMD_TEST_LOOK="+run)
	if out, err := alone.Output(); err != nil || !strings.Contains(string(out), fmt.Sprintf("cores %d lowest %v\n", runtime.GOMAXPROCS(0), atLowest(t))) {
		t.Errorf("nobody runs it: %s, %v", out, err)
	}
	holder := child(t, "SIMD_TEST_HOLD="+run)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	beside := child(t, "SIMD_TEST_LOOK="+run)
	if out, err := beside.Output(); err != nil || !strings.Contains(string(out), "cores 1 lowest true") {
		t.Errorf("a process has it: %s, %v", out, err)
	}
	if !rundir.RunsBeside(run) {
		t.Error("no process has it")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := holder.Wait(); err != nil || rundir.RunsBeside(run) {
		t.Errorf("%v; a process has it: %v", err, rundir.RunsBeside(run))
	}
}

// hold has a run until the parent closes the pipe.
func hold(t *testing.T, dir string) {
	o, err := rundir.OpenForWriting(dir)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

// atLowest reports whether every thread has the lowest priority.
func atLowest(t *testing.T) bool {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile("/proc/self/task/" + thread.Name() + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		_, behind, _ := strings.Cut(string(stat), ") ") // the name may hold spaces
		if fields := strings.Fields(behind); fields[16] != "19" {
			return false
		}
	}
	return true
}
