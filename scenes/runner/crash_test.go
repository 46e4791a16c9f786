package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
	"tavernsim/scenes/snapshots"
)

// crashOptions make a run of some hundred milliseconds with many waves, small
// blocks and frequent snapshots.
func crashOptions(dir string) Options {
	return Options{Dir: dir, Scenes: []string{"day", "night"}, Ticks: 300, BatchFacts: 50, Snapshots: snapshots.Policy{Facts: 400}}
}

// crashChild runs the town, or goes on with it, and prints its digests.
func crashChild(dir string) error {
	fsys, err := townFS()
	if err != nil {
		return err
	}
	var r *Runner
	if exists(filepath.Join(dir, manifestFile)) {
		r, err = Resume(dir, Options{})
	} else if err = os.RemoveAll(dir); err == nil { // killed before it was a run
		p, loadErr := LoadFS(fsys, "town", true)
		if loadErr != nil {
			return loadErr
		}
		r, err = Start(p, crashOptions(dir))
	}
	if protocol.KindOf(err) == protocol.KindConflict {
		return printEnded(dir, err) // killed after the end, before it could say so
	}
	if err != nil {
		return err
	}
	fmt.Println("open")
	s, err := r.Wait()
	if err != nil {
		return err
	}
	fmt.Println("digest", s.Digests())
	return nil
}

// printEnded prints the digests of a run that has ended already.
func printEnded(dir string, conflict error) error {
	sum, err := Replay(context.Background(), dir, ReplayOptions{})
	if err != nil {
		return errors.Join(conflict, err)
	}
	var digests []string
	for _, s := range sum.Scenes {
		if s.Ended == "" {
			return conflict
		}
		digests = append(digests, s.Digest)
	}
	fmt.Println("digest", strings.Join(digests, " "))
	return nil
}

// TestCrash kills a running process with SIGKILL at random moments and resumes
// it: in the end the digests are those of a run that nobody touched. With
// SIMD_TEST_LONG=1 (make crash) it does so 200 times.
func TestCrash(t *testing.T) {
	kills := 10
	if os.Getenv("SIMD_TEST_LONG") != "" {
		kills = 200
	} else if testing.Short() {
		kills = 3
	}
	whole := filepath.Join(t.TempDir(), "whole")
	began := time.Now()
	want := run(t, loadTown(t), crashOptions(whole))
	length := time.Since(began)
	seed := uint64(time.Now().UnixNano())
	t.Logf("a run takes %v; kill moments drawn from %d", length, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir, ended := filepath.Join(t.TempDir(), "run"), 0
	for n := 0; n < kills; {
		digest, killed := killOnce(t, dir, time.Duration(rng.Int64N(int64(length))))
		if killed {
			n++
			continue
		}
		checkCrashed(t, dir, whole, digest, want.Digests())
		ended++
		dir = filepath.Join(t.TempDir(), "run")
	}
	digest, killed := killOnce(t, dir, time.Hour)
	if killed {
		t.Fatal("the last child was killed")
	}
	checkCrashed(t, dir, whole, digest, want.Digests())
	t.Logf("%d kills, %d runs reached their end", kills, ended+1)
}

// killOnce runs a child until it ends or for a while. A child that ended says
// with which digests.
func killOnce(t *testing.T, dir string, after time.Duration) (digest string, killed bool) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var timer *time.Timer
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "open" {
			timer = time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
		if d, ok := strings.CutPrefix(lines.Text(), "digest "); ok {
			digest = d
		}
	}
	if timer != nil {
		timer.Stop()
	}
	err = child.Wait()
	var exit *exec.ExitError
	switch {
	case digest != "":
		return digest, false // a kill that came too late
	case errors.As(err, &exit) && exit.ExitCode() == -1:
		return "", true
	}
	t.Fatalf("the child ended by itself: %v", err)
	return "", false
}

func checkCrashed(t *testing.T, dir, whole, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("digests %s, want %s", got, want)
	}
	a, err := Replay(context.Background(), dir, ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Replay(context.Background(), whole, ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Scenes {
		if a.Scenes[i] != b.Scenes[i] {
			t.Fatalf("replayed %+v, want %+v", a.Scenes[i], b.Scenes[i])
		}
	}
	if _, err := Resume(dir, Options{}); err == nil {
		t.Fatal("an ended run was resumed")
	}
}
