package persistence_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"flag"
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

var update = flag.Bool("update", false, "write the history of the newest format version anew; older ones are never written again")

// newestHistory is raised whenever any structure gets a new version.
const newestHistory = format.IndexVersion

// historyTraces takes the first byte of what is told of a goal for its trace.
func historyTraces() persistence.Traces {
	return persistence.Traces{Rule: 1, Of: func(kind string, data []byte, yield func([]byte)) {
		if kind == "GoalReached" && len(data) > 0 {
			yield(data[:1])
		}
	}}
}

// historyFacts is what the golden history holds: the edges of the format beside
// ordinary facts.
func historyFacts() [][]protocol.Record {
	long := strings.Repeat("long ", 60)
	return [][]protocol.Record{
		{
			{Time: 1_735_689_600_000_000_000, Actor: "scene", Kind: "SceneStarted", Data: protocol.Encode(map[string]any{"seed": int64(42)})},
			{Time: 1_735_689_600_000_000_000, Actor: "herbalist", Kind: "DeliberationEnded", Data: protocol.Encode("»»»hello«««")},
		},
		{{Time: -1, Actor: "", Kind: "", Data: nil}},
		{
			{Time: 1_735_689_660_000_000_000, Actor: "药草师", Kind: "PrivateStateUpdated", Data: protocol.Encode(long)},
			{Time: 1_735_689_660_000_000_001, Actor: "herbalist", Kind: "GoalReached", Data: []byte{0xc0}},
			{Time: 1_735_689_660_000_000_001, Actor: "herbalist", Kind: "GoalReached", Data: []byte{0xc3}},
			{Time: 1_735_689_660_000_000_002, Actor: "scene", Kind: "SceneEnded", Data: protocol.Encode([]any{nil, true, 1.5, int64(-7)})},
		},
	}
}

// TestHistories decodes every history that was ever written: the stored entries,
// as hexadecimal text, must give the same facts, waves and digests for ever.
// A new format version brings a new file: go test -run Histories -update.
func TestHistories(t *testing.T) {
	newest := filepath.Join("testdata", "histories", fmt.Sprintf("v%d", newestHistory))
	if *update {
		writeFile(t, newest+".entries", makeHistory(t))
	}
	entries, err := filepath.Glob(filepath.Join("testdata", "histories", "*.entries"))
	if err != nil || len(entries) < newestHistory {
		t.Fatalf("histories %v, %v; want one for each of %d versions", entries, err, newestHistory)
	}
	for _, name := range entries {
		t.Run(filepath.Base(name), func(t *testing.T) {
			have := readHistory(t, name)
			golden := strings.TrimSuffix(name, ".entries") + ".facts"
			if *update && strings.HasPrefix(name, newest) {
				writeFile(t, golden, have)
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(have, want) {
				t.Fatalf("%s decodes to\n%s\nwant\n%s", name, have, want)
			}
		})
	}
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// makeHistory writes the facts in blocks of two and dumps the database.
func makeHistory(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	s, j := openIn(t, dir, persistence.Options{BatchFacts: 2, Traces: historyTraces()})
	for _, wave := range historyFacts() {
		for _, f := range wave {
			if _, err := j.Append(f.Time, f.Actor, f.Kind, f.Data); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := j.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	edit(t, dir, func(db *pebble.DB) {
		it, err := db.NewIter(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
			fmt.Fprintf(&out, "%x %x\n", it.Key(), it.Value())
		}
	})
	return out.Bytes()
}

// readHistory puts the entries into an empty database and prints what the store
// finds there.
func readHistory(t *testing.T, name string) []byte {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	edit(t, dir, func(db *pebble.DB) {
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), " ")
			if err := db.Set(unhex(t, key), unhex(t, value), nil); err != nil {
				t.Fatal(err)
			}
		}
	})
	_, j := openIn(t, dir, persistence.Options{ReadOnly: true, Traces: historyTraces()})
	report, err := j.Verify(context.Background(), nil)
	if err != nil || report.Damage != nil || report.Index != nil {
		t.Fatalf("verify: %+v, %v", report, err)
	}
	var out bytes.Buffer
	if err := j.Read(0, func(r protocol.Record) error {
		_, err := fmt.Fprintf(&out, "%d %d %q %q %x\n", r.Seq, r.Time, r.Actor, r.Kind, []byte(r.Data))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := j.Waves(1, func(w persistence.Wave) error {
		_, err := fmt.Fprintf(&out, "wave %d: facts %d to %d, times %d to %d, %d bytes, %v\n", w.Number, w.First, w.Last, w.MinTime, w.MaxTime, w.Total, w.Digest)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := j.Scan(persistence.Query{Trace: "\xc3"}, func(r protocol.Record) error {
		if r.Seq != 6 {
			t.Errorf("fact %d is said to belong to the trace", r.Seq)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHistoryIsWrittenTheSame writes the golden facts anew and reads them: waves
// and digests are the stored ones. The stored bytes need not be: a compressor
// may find another way.
func TestHistoryIsWrittenTheSame(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "histories", fmt.Sprintf("v%d.facts", newestHistory)))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "now.entries")
	writeFile(t, name, makeHistory(t))
	if have := readHistory(t, name); !bytes.Equal(have, want) {
		t.Fatalf("the same facts are read back as\n%s\nwant\n%s", have, want)
	}
}
