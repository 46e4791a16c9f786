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

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/snapshots"
)

// crashOptions make a run of some hundred milliseconds with many waves, small
// blocks and frequent snapshots.
func crashOptions(dir string) Options {
	return Options{Dir: dir, Scenes: []string{"day", "night"}, Ticks: 300, BatchFacts: 50, Snapshots: snapshots.Policy{Facts: 400}}
}

// crashChild runs the town, or goes on with it, and prints its digests.
func crashChild(dir string) error {
	var r *Runner
	var err error
	if exists(filepath.Join(dir, manifestFile)) {
		r, err = Resume(dir, Options{})
	} else if err = os.RemoveAll(dir); err == nil { // killed before it was a run
		p, loadErr := LoadFS(scenestest.TownFS(), "town", true)
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
	done := make(chan struct{})
	go tellKept(r.Scenes, done)
	s, err := r.Wait()
	close(done)
	if err != nil {
		return err
	}
	fmt.Println("digest", s.Digests())
	return nil
}

// tellKept prints which waves were acknowledged, as they are.
func tellKept(scenes []*Scene, done chan struct{}) {
	last := make([]uint64, len(scenes))
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		for i, s := range scenes {
			if w := s.journal.Durable().Number; w != last[i] {
				fmt.Println("kept", s.ID, w)
				last[i] = w
			}
		}
	}
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
// it. After every kill the journals are those of a run that nobody touched, up to
// some wave, and no wave that was acknowledged is missing; in the end the digests
// and the state are that run's. With SIMD_TEST_LONG=1 (make crash) it kills 200
// times.
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
	digests := waveDigests(t, whole)
	seed := uint64(time.Now().UnixNano())
	t.Logf("a run takes %v; kill moments drawn from %d", length, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c := &crashed{whole: digests, acked: map[string]uint64{}}
	dir, ended := filepath.Join(t.TempDir(), "run"), 0
	for n := 0; n < kills; {
		began := time.Now()
		digest, killed := c.killOnce(t, dir, time.Duration(rng.Int64N(int64(length))))
		if killed {
			c.check(t, dir)
			n++
			continue
		}
		length = max(min(length, time.Since(began)), length/2) // the first may have met a busy machine
		checkCrashed(t, dir, whole, digest, want.Digests())
		ended++
		dir, c.acked = filepath.Join(t.TempDir(), "run"), map[string]uint64{}
	}
	digest, killed := c.killOnce(t, dir, time.Hour)
	if killed {
		t.Fatal("the last child was killed")
	}
	checkCrashed(t, dir, whole, digest, want.Digests())
	t.Logf("%d kills, %d of them in the middle, %d runs reached their end, %d waves were acknowledged before a kill and found after it", kills, c.middle, ended+1, c.found)
	if c.middle < kills/4 {
		t.Error("too few kills hit the middle of a run")
	}
}

// crashed holds what kills left to the run that nobody touched.
type crashed struct {
	whole  map[string][]string // digests by scene and wave
	acked  map[string]uint64   // last acknowledged wave that the child told of
	middle int                 // kills after the first wave and before the last
	found  uint64
}

// waveDigests are the digests of every wave of a run's scenes, the beginning's
// first. It reads and checks every fact.
func waveDigests(t *testing.T, dir string) map[string][]string {
	t.Helper()
	run, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	all := map[string][]string{}
	for _, id := range run.Manifest.Scenes {
		journal, err := run.Store.Journal(id)
		if protocol.KindOf(err) == protocol.KindNotFound {
			continue // it had not begun
		}
		if err != nil {
			t.Fatal(err)
		}
		list := []string{journal.Begin().Digest.String()}
		report, err := journal.Verify(context.Background(), func(w persistence.Wave) { list = append(list, w.Digest.String()) })
		if err = errors.Join(err, report.Damage, errors.Join(report.Index...)); err != nil {
			t.Fatal(err)
		}
		all[id] = list
	}
	return all
}

// check reads the journals that a kill left: each is the beginning of the
// undisturbed one, fact for fact, up to the last acknowledged wave at least.
func (c *crashed) check(t *testing.T, dir string) {
	t.Helper()
	if !exists(filepath.Join(dir, manifestFile)) || !exists(filepath.Join(dir, JournalDir)) {
		return
	}
	left := waveDigests(t, dir)
	for id, whole := range c.whole {
		if have := uint64(max(len(left[id]), 1) - 1); have < c.acked[id] {
			t.Fatalf("scene %s: %d waves are left; %d were acknowledged", id, have, c.acked[id])
		}
		for n, digest := range left[id] {
			if n >= len(whole) || whole[n] != digest {
				t.Fatalf("scene %s: wave %d of %d has the digest %s, of %d in the undisturbed run", id, n, len(left[id]), digest, len(whole))
			}
		}
		if len(left[id]) > 1 && len(left[id]) < len(whole) {
			c.middle++
		}
		c.found += c.acked[id]
	}
}

// killOnce runs a child until it ends or for a while. A child that ended says
// with which digests.
func (c *crashed) killOnce(t *testing.T, dir string, after time.Duration) (digest string, killed bool) {
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
		c.heard(lines.Text())
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

func (c *crashed) heard(line string) {
	var id string
	var wave uint64
	if n, _ := fmt.Sscanf(line, "kept %s %d", &id, &wave); n == 2 {
		c.acked[id] = wave
	}
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
