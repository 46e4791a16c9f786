package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

var damageWorkload = Workload{Seed: 41, MaxWave: 30}

const damageWaves = 12

// written makes a store with a short history and closes it.
func written(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s, j := openIn(t, dir, persistence.Options{BatchFacts: 7})
	if err := damageWorkload.Write(j, persistence.Wave{}, damageWaves, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openIn(t *testing.T, dir string, o persistence.Options) (*persistence.Store, *persistence.Journal) {
	t.Helper()
	s, err := persistence.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	j, err := s.Journal(crashScene)
	if err != nil {
		t.Fatal(err)
	}
	return s, j
}

// edit changes the database behind the store's back.
func edit(t *testing.T, dir string, change func(*pebble.DB)) {
	t.Helper()
	db, err := pebble.Open(filepath.Join(dir, "db"), &pebble.Options{Logger: quiet{}, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	change(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// corruptValue changes the value of a key.
func corruptValue(t *testing.T, dir string, key []byte, change func([]byte) []byte) {
	t.Helper()
	edit(t, dir, func(db *pebble.DB) {
		value, closer, err := db.Get(key)
		if err != nil {
			t.Fatalf("key %x: %v", key, err)
		}
		changed := change(append([]byte(nil), value...))
		if err := errors.Join(closer.Close(), db.Set(key, changed, pebble.Sync)); err != nil {
			t.Fatal(err)
		}
	})
}

// firstOf is the first seq of the block of wave 5 that begins the wave.
func firstOf(number uint64) uint64 {
	return damageWorkload.Model(crashScene, damageWaves).Waves[number-1].First
}

func blockKey(f format.Family, seq uint64) []byte {
	return format.AppendKey(nil, crashScene, f, seq)
}

// Promise 4. TestDamagedBlock flips bytes all over a block in the middle: reading gives
// everything before it and then says where the damage is and what can be saved,
// and what can be saved is saved by CutAfter.
func TestDamagedBlock(t *testing.T) {
	first := firstOf(5)
	for _, offset := range []int{0, 3, 4, 8, 16, 24, 28, 40, -1} {
		t.Run(fmt.Sprintf("offset=%d", offset), func(t *testing.T) {
			dir := written(t)
			corruptValue(t, dir, blockKey(format.FamilyBlock, first), func(b []byte) []byte {
				b[(offset+len(b))%len(b)] ^= 0x41
				return b
			})
			s, j := openIn(t, dir, persistence.Options{})
			last := uint64(0)
			err := j.Read(0, func(r protocol.Record) error { last = r.Seq; return nil })
			checkDamage(t, err, first, 4)
			if last != first-1 {
				t.Fatalf("read up to seq %d; everything before seq %d is good", last, first)
			}
			report, err := j.Verify(context.Background(), nil)
			if err != nil || report.Good.Number != 4 {
				t.Fatalf("verify: %+v, %v", report, err)
			}
			checkDamage(t, report.Damage, first, 4)
			saveGood(t, s, j)
		})
	}
}

func checkDamage(t *testing.T, err error, first, good uint64) {
	t.Helper()
	d, ok := persistence.DamageOf(err)
	kind := protocol.KindOf(err)
	if !ok || kind != protocol.KindCorrupt && kind != protocol.KindUnknown {
		t.Fatalf("error %v of kind %s; want a damage", err, kind)
	}
	if d.FirstSeq != first || d.Good.Number != good || d.Scene != crashScene {
		t.Fatalf("damage %+v; want seq %d after good wave %d", d, first, good)
	}
	for _, want := range []string{fmt.Sprintf("%s/b/%d", crashScene, first), fmt.Sprintf("waves up to %d", good)} {
		if !strings.Contains(err.Error(), want) {
			t.Fatalf("%q does not say %q", err, want)
		}
	}
}

func saveGood(t *testing.T, s *persistence.Store, j *persistence.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.CutAfter(crashScene, 4); err != nil {
		t.Fatal(err)
	}
	saved, err := Of(s).Journal(crashScene)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(saved, damageWorkload.Model(crashScene, 4)); err != nil {
		t.Fatal(err)
	}
	if err := damageWorkload.Write(saved, saved.Durable(), damageWaves, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := saved.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := Check(saved, damageWorkload.Model(crashScene, damageWaves)); err != nil {
		t.Fatal(err)
	}
}

// TestMissingBlock takes a block away: a gap is damage too.
func TestMissingBlock(t *testing.T) {
	dir := written(t)
	first := firstOf(5)
	edit(t, dir, func(db *pebble.DB) {
		if err := db.Delete(blockKey(format.FamilyBlock, first), pebble.Sync); err != nil {
			t.Fatal(err)
		}
	})
	_, j := openIn(t, dir, persistence.Options{})
	err := j.Read(0, func(protocol.Record) error { return nil })
	if d, ok := persistence.DamageOf(err); !ok || d.Good.Number != 4 {
		t.Fatalf("read over a gap: %v", err)
	}
	err = j.Scan(persistence.Query{Kinds: []string{"EventPublished"}}, func(protocol.Record) error { return nil })
	if _, ok := persistence.DamageOf(err); !ok {
		t.Fatalf("query over a gap: %v", err)
	}
}

// TestDamagedEnd damages the block that closes the last wave: the journal does
// not open, because an acknowledged wave would be lost in silence.
func TestDamagedEnd(t *testing.T) {
	dir := written(t)
	m := damageWorkload.Model(crashScene, damageWaves)
	last := m.Last()
	closing := last.First + (last.Last-last.First)/7*7
	corruptValue(t, dir, blockKey(format.FamilyBlock, closing), func(b []byte) []byte { b[40] ^= 1; return b })
	s, err := persistence.Open(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Journal(crashScene)
	checkDamage(t, err, closing, damageWaves-1)
	if err := s.CutAfter(crashScene, damageWaves-1); err != nil {
		t.Fatal(err)
	}
	j, err := Of(s).Journal(crashScene)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(j, damageWorkload.Model(crashScene, damageWaves-1)); err != nil {
		t.Fatal(err)
	}
}

// TestForgedFacts changes a fact and makes the checksum fit: the chain finds it.
func TestForgedFacts(t *testing.T) {
	dir := written(t)
	first := firstOf(5)
	corruptValue(t, dir, blockKey(format.FamilyBlock, first), func(b []byte) []byte {
		blk, err := format.OpenBlock(b)
		if err != nil {
			t.Fatal(err)
		}
		facts, err := blk.Facts()
		if err != nil {
			t.Fatal(err)
		}
		facts[7] ^= 1 // of the first fact's time
		return format.AppendBlock(nil, &blk.Header, facts)
	})
	_, j := openIn(t, dir, persistence.Options{})
	report, err := j.Verify(context.Background(), nil)
	if err != nil || report.Good.Number != 4 || report.Damage == nil || !strings.Contains(report.Damage.Error(), "digest") {
		t.Fatalf("verify: %+v, %v", report, err)
	}
}

// TestDamagedIndex loses and damages index entries: facts are read all the same,
// Verify lists the entries.
func TestDamagedIndex(t *testing.T) {
	dir := written(t)
	corruptValue(t, dir, blockKey(format.FamilyIndex, firstOf(3)), func(b []byte) []byte { b[20] ^= 1; return b })
	edit(t, dir, func(db *pebble.DB) {
		if err := db.Delete(blockKey(format.FamilyIndex, firstOf(7)), pebble.Sync); err != nil {
			t.Fatal(err)
		}
	})
	_, j := openIn(t, dir, persistence.Options{})
	n := uint64(0)
	if err := j.Read(0, func(protocol.Record) error { n++; return nil }); err != nil || n != j.Durable().Last {
		t.Fatalf("read %d facts: %v", n, err)
	}
	err := j.Waves(1, func(persistence.Wave) error { return nil })
	if d, ok := persistence.DamageOf(err); !ok || !d.Index {
		t.Fatalf("waves over a damaged index: %v", err)
	}
	report, err := j.Verify(context.Background(), nil)
	if err != nil || report.Damage != nil || len(report.Index) != 2 {
		t.Fatalf("verify: %+v, %v", report, err)
	}
}

// TestNewerVersions refuses what a newer program wrote, with words that say so.
func TestNewerVersions(t *testing.T) {
	newer := func(b []byte) []byte { b[3] = format.Version + 1; return b }
	for _, c := range []struct {
		name   string
		key    []byte
		change func([]byte) []byte
	}{
		{"block", blockKey(format.FamilyBlock, firstOf(5)), newer},
		{"head", format.HeadKey(crashScene), newer},
		{"store", format.StoreKey(), func(b []byte) []byte { b[len(b)-1]++; return b }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := written(t)
			corruptValue(t, dir, c.key, c.change)
			err := openAndRead(dir)
			if protocol.KindOf(err) != protocol.KindUnknown || !strings.Contains(err.Error(), "version 2") {
				t.Fatalf("error %v of kind %s; want it to name version 2", err, protocol.KindOf(err))
			}
		})
	}
}

func openAndRead(dir string) error {
	s, err := persistence.Open(dir, persistence.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	j, err := s.Journal(crashScene)
	if err != nil {
		return err
	}
	return j.Read(0, func(protocol.Record) error { return nil })
}

// TestForeignDirectory refuses a database of something else.
func TestForeignDirectory(t *testing.T) {
	dir := written(t)
	corruptValue(t, dir, format.StoreKey(), func([]byte) []byte { return []byte("somebody else's") })
	if err := openAndRead(dir); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Fatalf("a foreign database: %v", err)
	}
}

// TestDamagedFiles flips a byte in the middle of each of the database's files: a
// clear error or the right facts, never a panic and never wrong ones.
func TestDamagedFiles(t *testing.T) {
	dir := written(t)
	// Reopening turns the log into a table, so that there is one to damage.
	s, _ := openIn(t, dir, persistence.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "db", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.Size() == 0 {
			continue
		}
		for _, at := range []int64{0, info.Size() / 2, info.Size() - 1} {
			t.Run(fmt.Sprintf("%s@%d", filepath.Base(file), at), func(t *testing.T) { damageFile(t, dir, file, at) })
		}
	}
}

func damageFile(t *testing.T, dir, file string, at int64) {
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(copied, "db", filepath.Base(file))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 0x10
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	m := damageWorkload.Model(crashScene, damageWaves)
	s, err := persistence.Open(copied, persistence.Options{ReadOnly: true})
	if err != nil {
		t.Logf("open: %v", err)
		return
	}
	defer s.Close()
	j, err := Of(s).Journal(crashScene)
	if err == nil {
		err = Check(j, m)
	}
	if err != nil {
		t.Logf("%v", err)
		if k := protocol.KindOf(err); k != protocol.KindCorrupt && k != protocol.KindNotFound && k != protocol.KindUnknown {
			t.Fatalf("kind %s", k)
		}
	}
}
