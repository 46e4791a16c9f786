package persistence_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

// The history that the child writes; long enough that no series of kills ends it.
var killWorkload = Workload{Seed: 31, MaxWave: 400, Size: 100}

func killOptions() persistence.Options {
	return persistence.Options{BatchFacts: 64, MemTableSize: 256 << 10}
}

// crashChild writes waves for ever, saves a snapshot every so often, and prints
// the number of every wave that was acknowledged.
func crashChild(dir string) error {
	s, err := persistence.Open(dir, killOptions())
	if err != nil {
		return err
	}
	j, err := Of(s).Journal(crashScene)
	if err != nil {
		return err
	}
	fmt.Println("open")
	for {
		to := j.Durable().Number + 20
		err := killWorkload.Write(j, j.Durable(), to, func(w persistence.Wave, err error) {
			if err == nil {
				// One write to the pipe: what the parent reads was acknowledged.
				_, _ = os.Stdout.WriteString(fmt.Sprintf("%d\n", w.Number))
			}
		})
		if err != nil {
			return err
		}
		last, err := j.Sync(context.Background())
		if err != nil {
			return err
		}
		states := func(yield func(string, []byte) bool) { yield("all", fmt.Appendf(nil, "state of %d", last.Number)) }
		if err := j.SaveSnapshot(last.Number, states); err != nil {
			return err
		}
	}
}

// killsPerStore bounds the history that every kill has checked from its start.
const killsPerStore = 20

// Promises 1 and 2. TestKill kills a writing process with SIGKILL again and again: at level
// process no acknowledged wave is lost, no half wave is seen, and the next
// process goes on where the journal ends.
func TestKill(t *testing.T) {
	kills := 4
	if long() {
		kills = 200
	} else if testing.Short() {
		t.Skip("processes are killed")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("kill moments drawn from %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir, recovered := "", uint64(0)
	for n := range kills {
		if n%killsPerStore == 0 {
			dir, recovered = t.TempDir(), 0
		}
		acked := killOnce(t, dir, n%2 == 1, time.Duration(rng.IntN(120_000))*time.Microsecond)
		last := checkKilled(t, dir, max(acked, recovered))
		t.Logf("kill %d: acknowledged %d, recovered %d", n+1, acked, last)
		recovered = last
	}
	if recovered == 0 {
		t.Fatal("no wave was ever written")
	}
}

// killOnce runs a child for a while and returns the last wave it acknowledged. The
// while begins when the store is open, or with the first such wave: on a busy machine
// no child would come that far in a time that was drawn.
func killOnce(t *testing.T, dir string, late bool, after time.Duration) (acked uint64) {
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
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("the child says %q", lines.Text())
	}
	checkLocked(t, dir, child.Process.Pid)
	if late && lines.Scan() {
		fmt.Sscan(lines.Text(), &acked)
	}
	timer := time.AfterFunc(after, func() { _ = child.Process.Kill() })
	defer timer.Stop()
	for lines.Scan() {
		fmt.Sscan(lines.Text(), &acked)
	}
	var exit *exec.ExitError
	if err := child.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return acked
}

// checkLocked holds that a second process is refused and told by whom.
func checkLocked(t *testing.T, dir string, pid int) {
	t.Helper()
	s, err := persistence.Open(dir, killOptions())
	if err == nil {
		t.Fatal(errors.Join(errors.New("a second process opened the store"), s.Close()))
	}
	if protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", pid)) {
		t.Fatalf("error %q of kind %s; want a conflict with process %d", err, protocol.KindOf(err), pid)
	}
}

func checkKilled(t *testing.T, dir string, acked uint64) (recovered uint64) {
	t.Helper()
	s, err := persistence.Open(dir, killOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.Contains(s.Unclean(), "process ") {
		t.Fatalf("the store does not know that it was left: %q", s.Unclean())
	}
	j, err := s.Journal(crashScene)
	if err != nil {
		t.Fatal(err)
	}
	last := j.Durable()
	if last.Number < acked {
		t.Fatalf("recovered %d waves; %d were acknowledged", last.Number, acked)
	}
	sj, err := Of(s).Journal(crashScene)
	if err == nil || sj != nil {
		t.Fatal("a journal was opened twice")
	}
	report, err := j.Verify(context.Background(), nil)
	if err != nil || report.Damage != nil || report.Index != nil || report.Good != last {
		t.Fatalf("verify: %+v, %v", report, err)
	}
	if want := killWorkload.Model(crashScene, last.Number).Last(); last != want {
		t.Fatalf("recovered %+v; the undisturbed journal has %+v", last, want)
	}
	if snap, err := j.LatestSnapshot(); err == nil && snap.Skipped != nil {
		t.Fatalf("a snapshot was damaged: %v", snap.Skipped)
	}
	return last.Number
}

// TestLockInProcess holds that one process cannot open a store twice either, and
// that a closed store can be opened again.
func TestLockInProcess(t *testing.T) {
	dir := t.TempDir()
	s, err := persistence.Open(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := persistence.Open(dir, persistence.Options{}); protocol.KindOf(err) != protocol.KindConflict {
		t.Fatalf("second open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = persistence.Open(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Unclean() != "" {
		t.Fatalf("a closed store counts as left by %q", s.Unclean())
	}
}
