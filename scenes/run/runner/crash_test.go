package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// crashOptions make a run of some hundred milliseconds with many waves, small
// blocks and frequent snapshots.
func crashOptions(dir string) Options {
	return Options{Dir: dir, Scenes: []string{"day", "night"}, Ticks: 300, BatchFacts: 50, Snapshots: machines.SnapshotPolicy{Facts: 400}}
}

// crashChild runs the town, or goes on with it, and prints its digests.
func crashChild(dir string) error {
	var r *Runner
	var err error
	if exists(filepath.Join(dir, "manifest.json")) {
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
	sum, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{})
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

// Promise 2: a run that was killed is resumed from its directory. TestCrash kills a
// running process with SIGKILL at random moments and resumes it. After every kill the journals are those of a run that nobody touched, up to
// some wave, and no wave that was acknowledged is missing; in the end the digests
// and the state are that run's. With SIMD_TEST_LONG=1 (make crash) it kills 200
// times.
func TestCrash(t *testing.T) {
	kills := 10
	if scenestest.Long() {
		kills = 200
	} else if testing.Short() {
		t.Skip("processes are killed")
	}
	whole := filepath.Join(t.TempDir(), "whole")
	want := run(t, loadTown(t), crashOptions(whole))
	c := &crashed{whole: waveDigests(t, whole), rng: rand.New(rand.NewPCG(crashSeed(t), 0))}
	runs := 0
	for ; c.kills < kills; runs++ {
		dir := filepath.Join(t.TempDir(), "run")
		checkCrashed(t, dir, whole, c.live(t, dir, min(killsPerRun, kills-c.kills)), want.Digests())
	}
	c.spread(t)
	t.Logf("%d kills in %d runs, %d of them in the middle, %d waves were acknowledged before a kill and found after it", kills, runs, c.middle, c.found)
	if c.middle < kills/4 {
		t.Error("too few kills hit the middle of a run")
	}
}

// killsPerRun are the lives of one run, but for the last.
const killsPerRun = 5

func crashSeed(t *testing.T) uint64 {
	seed := uint64(time.Now().UnixNano())
	if env := os.Getenv("SIMD_TEST_SEED"); env != "" {
		if _, err := fmt.Sscan(env, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("repeat the drawing with SIMD_TEST_SEED=%d", seed)
	return seed
}

// crashed holds what kills left to the run that nobody touched.
type crashed struct {
	whole  map[string]waves // by scene
	rng    *rand.Rand
	acked  map[string]uint64 // last acknowledged wave that the child told of
	kills  int
	middle int // kills after the first wave and before the last
	found  uint64
	left   []float64 // how much of the whole each kill left, 0 to 1
}

// live is a run from its beginning to its end, in several lives. It returns its
// digests. The kills are drawn over the facts of a run, not over time: of a run
// that goes on after a kill only the rest is left, and moments drawn anew for each
// life would gather at its beginning.
func (c *crashed) live(t *testing.T, dir string, kills int) (digest string) {
	t.Helper()
	c.acked = map[string]uint64{}
	at := make([]uint64, kills)
	for i := range at {
		at[i] = c.rng.Uint64N(c.facts(func(w waves) uint64 { return uint64(len(w.digests)) }))
	}
	slices.Sort(at)
	for _, moment := range at {
		digest, killed := c.killOnce(t, dir, moment)
		if !killed {
			return digest // it was at its end before the kill came
		}
		c.check(t, dir)
	}
	digest, killed := c.killOnce(t, dir, math.MaxUint64)
	if killed {
		t.Fatal("the last child was killed")
	}
	return digest
}

// facts counts the facts of all scenes up to a wave of each.
func (c *crashed) facts(through func(waves) uint64) (n uint64) {
	for _, w := range c.whole {
		if wave := min(through(w), uint64(len(w.last)-1)); wave > 0 {
			n += w.last[wave]
		}
	}
	return n
}

// spread looks where the kills fell: in every quarter of a run.
func (c *crashed) spread(t *testing.T) {
	t.Helper()
	var quarters [4]int
	for _, share := range c.left {
		quarters[min(3, int(4*share))]++
	}
	t.Logf("kills by quarters of a run: %v", quarters)
	if n := len(c.left); n >= 40 && slices.Min(quarters[:]) < n/10 {
		t.Errorf("kills by quarters of a run: %v; they gather", quarters)
	}
}

// waves are the digests and the last facts of a scene's waves, the beginning's
// first.
type waves struct {
	id      string
	digests []string
	last    []uint64
}

func (w *waves) add(wave persistence.Wave) {
	w.digests, w.last = append(w.digests, wave.Digest.String()), append(w.last, wave.Last)
}

// waveDigests reads and checks every fact of a run's scenes.
func waveDigests(t *testing.T, dir string) map[string]waves {
	t.Helper()
	run, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	all := map[string]waves{}
	for _, id := range run.Manifest.Scenes {
		journal, err := run.Store.Journal(id)
		if protocol.KindOf(err) == protocol.KindNotFound {
			continue // it had not begun
		}
		if err != nil {
			t.Fatal(err)
		}
		list := waves{id: id}
		list.add(journal.Begin())
		report, err := journal.Verify(context.Background(), list.add)
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
	c.kills++
	if !exists(filepath.Join(dir, "manifest.json")) || !exists(filepath.Join(dir, rundir.JournalDir)) {
		return
	}
	left := waveDigests(t, dir)
	for id, whole := range c.whole {
		have := uint64(max(len(left[id].digests), 1) - 1)
		if have < c.acked[id] {
			t.Fatalf("scene %s: %d waves are left; %d were acknowledged", id, have, c.acked[id])
		}
		for n, digest := range left[id].digests {
			if n >= len(whole.digests) || whole.digests[n] != digest {
				t.Fatalf("scene %s: wave %d of %d has the digest %s, of %d in the undisturbed run", id, n, have, digest, len(whole.digests)-1)
			}
		}
		if have > 0 && have < uint64(len(whole.digests)-1) {
			c.middle++
		}
		c.found += c.acked[id]
	}
	there := c.facts(func(w waves) uint64 { return uint64(max(len(left[w.id].digests), 1) - 1) })
	c.left = append(c.left, float64(there)/float64(c.facts(func(w waves) uint64 { return uint64(len(w.digests)) })))
}

// killOnce runs a child until it ends, or until that many facts of all scenes are
// acknowledged and a moment more, which lets the kill fall anywhere in a wave. A
// child that ended says with which digests.
func (c *crashed) killOnce(t *testing.T, dir string, facts uint64) (digest string, killed bool) {
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
		c.heard(lines.Text())
		if timer == nil && c.facts(func(w waves) uint64 { return c.acked[w.id] }) >= facts {
			timer = time.AfterFunc(time.Duration(c.rng.Int64N(int64(time.Millisecond))), func() { _ = child.Process.Kill() })
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
	a, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := rundir.Replay(context.Background(), whole, rundir.ReplayOptions{})
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
