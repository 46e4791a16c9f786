package persistence_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"pgregory.net/rapid"

	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
)

// TestReadOnly reads a store without changing a byte of it, also one that a kill
// left with half a wave.
func TestReadOnly(t *testing.T) {
	dir := written(t)
	s, j := openIn(t, dir, persistence.Options{BatchFacts: 2})
	for range 9 { // four blocks of a wave that is never closed
		if _, err := j.Append(1, "a", "Half", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := fileTimes(t, dir)
	s, j = openIn(t, dir, persistence.Options{ReadOnly: true})
	r, err := Of(s).Scenes()
	if err != nil || len(r) != 1 {
		t.Fatalf("scenes %v, %v", r, err)
	}
	seen := uint64(0)
	if err := j.Read(0, func(protocol.Record) error { seen++; return nil }); err != nil || seen != j.Durable().Last {
		t.Fatalf("read %d facts: %v", seen, err)
	}
	if j.Durable() != damageWorkload.Model(crashScene, damageWaves).Last() {
		t.Fatalf("durable %+v", j.Durable())
	}
	for _, err := range []error{
		second(j.Append(1, "a", "k", nil)), second(j.CloseWave(nil)),
		j.SaveSnapshot(1, oneState("x")), j.Drop(1), j.Forget(1), s.CutAfter("other", 1),
	} {
		if protocol.KindOf(err) != protocol.KindDenied {
			t.Errorf("error %v of kind %s; want denied", err, protocol.KindOf(err))
		}
	}
	if _, err := s.Journal("missing"); protocol.KindOf(err) != protocol.KindNotFound {
		t.Errorf("a scene without a journal: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := fileTimes(t, dir); after != before {
		t.Fatalf("files before:\n%s\nafter:\n%s", before, after)
	}
}

func second[T any](_ T, err error) error { return err }

// fileTimes lists a directory's files but for the lock's.
func fileTimes(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "LOCK" {
			return err
		}
		info, err := e.Info()
		b.WriteString(path + " " + info.ModTime().Format(time.RFC3339Nano) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMissingAndReadOnlyDirectories(t *testing.T) {
	_, err := persistence.Open(filepath.Join(t.TempDir(), "none"), persistence.Options{ReadOnly: true})
	if protocol.KindOf(err) != protocol.KindNotFound {
		t.Errorf("reading where nothing is: %v of kind %s", err, protocol.KindOf(err))
	}
	denied := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return &os.PathError{Op: "open", Path: op.Path, Err: syscall.EACCES}
		}
		return nil
	}))
	if _, err := persistence.Open(crashDir, persistence.Options{FS: denied}); protocol.KindOf(err) != protocol.KindDenied {
		t.Errorf("a directory that may not be written: %v of kind %s", err, protocol.KindOf(err))
	}
}

func TestOptions(t *testing.T) {
	err := persistence.Options{
		Durability: "eternal", BatchFacts: -1, BatchBytes: -1, StagedBlocks: 1, OpenWaves: -1, MemTableSize: 5, KeepSnapshots: -1,
	}.Validate()
	for _, want := range []string{"eternal", "BatchFacts", "BatchBytes", "StagedBlocks", "OpenWaves", "MemTableSize", "KeepSnapshots"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if err := (persistence.Options{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

// Promise 3. TestMetamorphic writes one random history under random options, with stops,
// snapshots and drops in between: the digest depends on the history alone, and
// snapshot and tail are the whole.
func TestMetamorphic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Workload{
			Seed:    rapid.Uint64().Draw(t, "seed"),
			MaxWave: rapid.IntRange(1, 60).Draw(t, "maxWave"),
			Size:    rapid.IntRange(1, 300).Draw(t, "size"),
		}
		waves := rapid.Uint64Range(1, 25).Draw(t, "waves")
		fsys := vfs.NewMem()
		m := w.Model(crashScene, waves)
		for done := uint64(0); done < waves; {
			to := rapid.Uint64Range(done+1, waves).Draw(t, "to")
			story(t, fsys, w, m, to)
			done = to
		}
	})
}

// story is one process's part of a metamorphic history.
func story(t *rapid.T, fsys vfs.FS, w Workload, m Model, to uint64) {
	s, err := persistence.Open(crashDir, persistence.Options{
		FS:           fsys,
		BatchFacts:   rapid.SampledFrom([]int{1, 3, 10, 4096}).Draw(t, "batchFacts"),
		BatchBytes:   rapid.SampledFrom([]int{100, 5000, 0}).Draw(t, "batchBytes"),
		OpenWaves:    rapid.IntRange(1, 5).Draw(t, "openWaves"),
		StagedBlocks: rapid.IntRange(2, 5).Draw(t, "stagedBlocks"),
		MemTableSize: 256 << 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	j, err := Of(s).Journal(crashScene)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(j, j.Durable(), to, nil), second(j.Sync(context.Background()))); err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "snapshot") {
		wave := rapid.Uint64Range(max(j.Begin().Number, 1), to).Draw(t, "of")
		saveFold(t, j, m, wave)
		if rapid.Bool().Draw(t, "drop") {
			if err := j.Drop(wave); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := Check(j, m); err != nil {
		t.Fatal(err)
	}
	checkFold(t, j, m)
}

// fold is a state that depends on every fact and its order.
func fold(state uint64, r protocol.Record) uint64 {
	d := protocol.NewDraw(state, r.Seq, uint64(r.Time), protocol.HashString(r.Actor), protocol.HashString(r.Kind), protocol.HashString(string(r.Data)))
	return d.Uint64()
}

func saveFold(t *rapid.T, j persistencetest.Journal, m Model, wave uint64) {
	state := uint64(0)
	for _, f := range m.Facts[:m.Waves[wave-1].Last] {
		state = fold(state, f)
	}
	err := j.SaveSnapshot(wave, func(yield func(string, []byte) bool) {
		yield("fold", protocol.Encode(map[string]any{"hi": int64(state >> 32), "lo": int64(state & 0xffffffff)}))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkFold holds snapshot plus tail against the whole.
func checkFold(t *rapid.T, j persistencetest.Journal, m Model) {
	snap, err := j.LatestSnapshot()
	if protocol.KindOf(err) == protocol.KindNotFound {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	state := uint64(0)
	err = snap.Read(func(_ string, b []byte) error {
		v, err := protocol.Raw(b).Value()
		if err == nil {
			o := v.(map[string]any)
			state = uint64(o["hi"].(int64))<<32 | uint64(o["lo"].(int64))
		}
		return err
	})
	if err == nil {
		err = j.Read(snap.Wave.Last+1, func(r protocol.Record) error { state = fold(state, r); return nil })
	}
	want := uint64(0)
	for _, f := range m.Facts[:j.Durable().Last] {
		want = fold(want, f)
	}
	if err != nil || state != want {
		t.Fatalf("snapshot of wave %d and tail give %x, the whole %x: %v", snap.Wave.Number, state, want, err)
	}
}

// TestReadingWhileWriting reads again and again beside a writer: always whole
// waves, always the same facts.
func TestReadingWhileWriting(t *testing.T) {
	w := Workload{Seed: 51, MaxWave: 20}
	m := w.Model(crashScene, 300)
	_, j := openIn(t, t.TempDir(), persistence.Options{BatchFacts: 5, MemTableSize: 256 << 10})
	done := make(chan error, 1)
	go func() { done <- w.Write(j, persistence.Wave{}, 300, nil) }()
	for range 20 {
		seq := uint64(0)
		err := j.Read(0, func(r protocol.Record) error {
			if seq++; r.Seq != seq || r.Actor != m.Facts[seq-1].Actor {
				return errors.New("a fact is not the history's")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

var errEnough = errors.New("enough")

// TestCloseDuringRead closes the store under a reader: Close waits, and a read
// that comes later is refused.
func TestCloseDuringRead(t *testing.T) {
	s, j := openIn(t, written(t), persistence.Options{})
	reading, closed := make(chan struct{}), make(chan error)
	go func() {
		<-reading
		closed <- s.Close()
	}()
	n := uint64(0)
	err := j.Read(0, func(protocol.Record) error {
		if n++; n == 1 {
			close(reading)
			// Once Close was called, new reads are refused and this one goes on.
			for protocol.KindOf(j.Read(0, func(protocol.Record) error { return errEnough })) != protocol.KindCancelled {
				runtime.Gosched()
			}
		}
		return nil
	})
	if err != nil || n != j.Durable().Last {
		t.Fatalf("read %d facts: %v", n, err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	err = j.Read(0, func(protocol.Record) error { return nil })
	if protocol.KindOf(err) != protocol.KindCancelled {
		t.Fatalf("read of a closed store: %v", err)
	}
}

// Promise 4. TestReadMemory holds that reading a journal ten times as long needs no more
// memory.
func TestReadMemory(t *testing.T) {
	alone(t)
	_, j := openIn(t, t.TempDir(), persistence.Options{Durability: persistence.Process})
	w := Workload{Seed: 61, MaxWave: 2000}
	if err := errors.Join(w.Write(j, persistence.Wave{}, 200, nil), second(j.Sync(context.Background()))); err != nil {
		t.Fatal(err)
	}
	peak := func(from uint64) (most uint64) {
		runtime.GC()
		var m runtime.MemStats
		n := 0
		if err := j.Read(from, func(protocol.Record) error {
			if n++; n%4096 == 0 {
				runtime.GC() // what is held, not what waits to be collected
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return most
	}
	last := j.Durable().Last
	short, whole := peak(last-last/10), peak(1)
	t.Logf("%d facts, %d bytes: heap %d KiB for a tenth, %d KiB for all", last, j.Durable().Total, short>>10, whole>>10)
	if whole > short+4<<20 {
		t.Fatalf("reading all needed %d bytes of heap, a tenth %d", whole, short)
	}
}

// TestObserver holds that what happens is told.
func TestObserver(t *testing.T) {
	o := &counted{}
	s, j := openIn(t, t.TempDir(), persistence.Options{Observer: o, BatchFacts: 10, StagedBlocks: 2, OpenWaves: 1})
	w := Workload{Seed: 71}
	if err := errors.Join(w.Write(j, persistence.Wave{}, 50, nil), second(j.Sync(context.Background())), j.SaveSnapshot(50, oneState("x")), s.Close()); err != nil {
		t.Fatal(err)
	}
	last := w.Model(crashScene, 50).Last()
	if o.facts != int(last.Last) || o.raw != int(last.Total) || o.kept != 50 || o.snapshots != 1 || o.stored == 0 {
		t.Fatalf("observed %+v of %+v", o, last)
	}
	if o.waited == 0 {
		t.Error("50 waves with one open at a time and nobody waited")
	}
}

// counted needs no lock: one journal's calls, and Sync and Close order the rest.
type counted struct {
	facts, raw, stored, kept, snapshots, waited int
}

func (c *counted) BlockStored(_ string, facts, raw, stored int) {
	c.facts += facts
	c.raw += raw
	c.stored += stored
}
func (c *counted) WaveKept(_ string, _ persistence.Wave, commit, latency time.Duration) {
	if commit > 0 && latency >= 0 {
		c.kept++
	}
}
func (c *counted) Waited(string, time.Duration)                      { c.waited++ }
func (c *counted) SnapshotSaved(string, int64, time.Duration, error) { c.snapshots++ }

// What is salvaged is the journal up to the wave, with its digest; a copy is the
// whole of it, and neither changes what it was made of.
func TestCopyAndSalvage(t *testing.T) {
	dir := t.TempDir()
	s, err := persistence.Open(dir+"/a", persistence.Options{BatchFacts: 3})
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Journal("s")
	if err != nil {
		t.Fatal(err)
	}
	var third persistence.Wave
	for n := range 6 {
		for range 5 {
			if _, err := j.Append(protocol.Time(n+1), "a", "k", protocol.Encode(int64(n))); err != nil {
				t.Fatal(err)
			}
		}
		kept := make(chan persistence.Wave, 1)
		if _, err := j.CloseWave(func(w persistence.Wave, err error) { kept <- w }); err != nil {
			t.Fatal(err)
		}
		if w := <-kept; n == 2 {
			third = w
		}
	}
	for _, wave := range []uint64{3, 5} {
		if err := j.SaveSnapshot(wave, maps.All(map[string][]byte{"a": []byte("x")})); err != nil {
			t.Fatal(err)
		}
	}
	end := j.Durable()
	to, err := persistence.Open(dir+"/b", persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Salvage("s", 3, to); err != nil {
		t.Fatal(err)
	}
	saved, err := to.Journal("s")
	if err != nil || saved.Durable().Digest != third.Digest || saved.Durable().Last != third.Last {
		t.Fatalf("%+v, want %+v, %v", saved.Durable(), third, err)
	}
	if r, err := saved.Verify(context.Background(), nil); err != nil || r.Damage != nil || len(r.Index) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if checks, err := saved.CheckSnapshots(); err != nil || len(checks) != 1 || checks[0].Err != nil || checks[0].Wave != 3 {
		t.Errorf("%+v, %v", checks, err)
	}
	if err := errors.Join(to.Close(), s.Close(), persistence.Copy(dir+"/a", dir+"/c")); err != nil {
		t.Fatal(err)
	}
	c, err := persistence.Open(dir+"/c", persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.CutAfter("s", 4); err != nil {
		t.Fatal(err)
	}
	a, err := persistence.Open(dir+"/a", persistence.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	again, err := a.Journal("s")
	if err != nil || again.Durable().Digest != end.Digest {
		t.Errorf("the cut of a copy reached the store: %+v, %v", again.Durable(), err)
	}
	if checks, err := again.CheckSnapshots(); err != nil || len(checks) != 2 {
		t.Errorf("%+v, %v", checks, err)
	}
	if err := persistence.Copy(dir+"/a", dir+"/c"); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
}
