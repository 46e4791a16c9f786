package export

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/inspect"
)

// exported opens a run anew, as a damaged one wants, and writes its facts.
func exported(dir string) (rows []byte, err error) {
	run, err := inspect.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	s, err := run.Scene("")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = Write(context.Background(), s, "facts", JSONL, Options{}, &b)
	return b.Bytes(), err
}

// Promise 3: whatever bit of the store is flipped, rows that are not the run's are never
// given without an error, and no row is given before the journal was checked.
func TestDamagedRun(t *testing.T) {
	dir := townRun(t, 12)
	want, err := exported(dir)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, rundir.JournalDir, "db", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	good, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	rng, refused := rand.New(rand.NewPCG(1, 1)), 0
	for i := range 60 {
		at := rng.IntN(len(good))
		switch i % 3 {
		case 0: // the end of a log is what a kill may leave torn
			at = len(good) - 1 - rng.IntN(2000)
		case 1: // with its beginning the whole journal is lost
			at = rng.IntN(2000)
		}
		bad := bytes.Clone(good)
		bad[at] ^= 1 << rng.IntN(8)
		if err := os.WriteFile(logs[0], bad, 0o644); err != nil {
			t.Fatal(err)
		}
		rows, err := exported(dir)
		if err == nil && !bytes.Equal(rows, want) {
			t.Fatalf("byte %d of %d: %d bytes of rows without an error; the run has %d", at, len(good), len(rows), len(want))
		}
		if err != nil && len(rows) > 0 {
			t.Errorf("byte %d of %d: %d bytes of rows, then %v", at, len(good), len(rows), err)
		}
		if err != nil {
			refused++
			if protocol.KindOf(err) != protocol.KindCorrupt {
				t.Errorf("byte %d: %v of kind %s", at, err, protocol.KindOf(err))
			}
		}
	}
	if refused < 30 {
		t.Errorf("only %d flips were seen", refused)
	}
}
