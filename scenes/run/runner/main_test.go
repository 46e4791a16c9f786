package runner

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"tavernsim/scenes/scenestest"
	"tavernsim/tools/sandbox"
)

// childEnv names the run directory of a process that is to be killed.
const childEnv = "SIMD_CRASH_CHILD"

// fullEnv is how many bytes a file of the child may have: the disk is full then.
const fullEnv = "SIMD_FULL_CHILD"

func child(dir string) error {
	if url := os.Getenv(billEnv); url != "" {
		return billChild(dir, url)
	}
	if os.Getenv(peopleEnv) != "" {
		return peopleChild(dir)
	}
	if os.Getenv(travelEnv) != "" {
		return travelChild(dir)
	}
	if limit := os.Getenv(fullEnv); limit != "" {
		if err := fillDisk(limit); err != nil {
			return err
		}
	}
	return crashChild(dir)
}

func TestMain(m *testing.M) {
	scenestest.Main()
	if code, worker := sandbox.Reexec(os.Args); worker {
		syscall.Exit(code) // before os.Exit the race detector waits for a second
	}
	if dir := os.Getenv(childEnv); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(tmpfsEnv); dir != "" {
		if err := onSmallDisk(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
