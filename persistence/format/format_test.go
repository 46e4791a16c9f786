package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"tavernsim/protocol"
)

func TestKeysSortAndParse(t *testing.T) {
	var keys [][]byte
	for _, scene := range []string{"a", "b", "tavern", "酒馆", strings.Repeat("z", MaxScene)} {
		keys = append(keys, AppendKey(nil, scene, FamilyBlock, 1), AppendKey(nil, scene, FamilyBlock, 256), AppendKey(nil, scene, FamilyBlock, 1<<40))
		keys = append(keys, AppendKey(nil, scene, FamilyIndex, 1), HeadKey(scene), AfterScene(scene))
	}
	if !slices.IsSortedFunc(keys, bytes.Compare) {
		t.Fatalf("keys do not sort by scene, family, seq: %x", keys)
	}
	k, err := ParseKey(AppendKey(nil, "tavern", FamilyBlock, 77))
	if err != nil || k != (Key{"tavern", FamilyBlock, 77}) || k.String() != "tavern/b/77" {
		t.Fatalf("parsed %+v, %v", k, err)
	}
	lower, upper := Range("tavern", FamilyBlock)
	for _, k := range [][]byte{HeadKey("tavern"), AppendKey(nil, "tavern", FamilyIndex, 0), AppendKey(nil, "tavern2", FamilyBlock, 5)} {
		if bytes.Compare(k, lower) >= 0 && bytes.Compare(k, upper) < 0 {
			t.Errorf("key %x lies in the range of blocks", k)
		}
	}
}

func TestBadKeys(t *testing.T) {
	for _, key := range [][]byte{nil, {0}, {0, 'v'}, {1, 'a'}, {9, 'a', 'b'}, {1, 'a', 'b', 1, 2}, {1, 'a', 'x'}, {1, 'a', 'm', 0}} {
		if k, err := ParseKey(key); protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("key %x parsed as %v, %v", key, k, err)
		}
	}
}

// Promise 1: the same again has the same bytes.
func TestEqualBytes(t *testing.T) {
	h, facts := sample(true)
	s := NewSummary(4096, 1)
	for i := range 300 {
		s.Add(protocol.Time(i), fmt.Sprint("actor-", i), []string{"B", "A", "C"}[i%3])
		s.AddTrace(fmt.Append(nil, i))
	}
	entry := func() []byte {
		e := Entry{Header: h}
		s.Fill(&e, nil)
		return AppendEntry(nil, &e)
	}
	for what, encode := range map[string]func() []byte{
		"block": func() []byte { return AppendBlock(nil, &h, facts) }, "index entry": entry,
		"head":     func() []byte { return AppendHead(nil, NewHead("tavern")) },
		"snapshot": func() []byte { return snapshotFile(t, Manifest{Scene: "tavern", Wave: 3, Seq: 99}, 3000) },
	} {
		for range 3 {
			if a, b := encode(), encode(); !bytes.Equal(a, b) {
				t.Errorf("%s: %x, then %x", what, a, b)
			}
		}
	}
}

// Promise 2: a few bytes that tell of too many get no memory for them.
func TestSmallBlocksCostLittle(t *testing.T) {
	h, facts := sample(false)
	value := AppendBlock(nil, &h, facts)[:headerSize]
	binary.BigEndian.PutUint32(value[headerSize-4:], MaxPayload+1) // the size of its facts
	value = binary.AppendUvarint(value, MaxPayload+1)              // and what they say themselves
	value = sealed(append(value, make([]byte, 3+checksumSize)...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	blk, err := OpenBlock(value)
	if err == nil {
		_, err = blk.Facts()
	}
	runtime.ReadMemStats(&after)
	if cost := after.TotalAlloc - before.TotalAlloc; protocol.KindOf(err) != protocol.KindCorrupt || cost > 1<<20 {
		t.Errorf("%d bytes that tell of %d cost %d; %v", len(value), MaxPayload+1, cost, err)
	}
}

// sample is a block of a few facts, closing or not.
func sample(closing bool) (Header, []byte) {
	var facts []byte
	for i := range 5 {
		facts = AppendFact(facts, protocol.Time(i), "trader-1", "EventPublished", bytes.Repeat([]byte{'x'}, 40*i))
	}
	h := Header{First: 7, Wave: 3, Count: 5, Raw: len(facts), Closing: closing}
	if closing {
		h.WaveFirst, h.Total, h.Digest = 2, 1234, Digest{1, 2, 3}
	}
	return h, facts
}

func TestBlockRoundTrip(t *testing.T) {
	for _, closing := range []bool{false, true} {
		h, facts := sample(closing)
		value := AppendBlock([]byte("before"), &h, facts)[len("before"):]
		blk, err := OpenBlock(value)
		if err != nil || blk.Header != h {
			t.Fatalf("opened %+v, %v; want %+v", blk.Header, err, h)
		}
		if len(value) >= len(facts)+headerSize+checksumSize {
			t.Errorf("facts that repeat were stored in %d bytes of %d", len(value), len(facts))
		}
		have, err := blk.Facts()
		if err != nil || !bytes.Equal(have, facts) {
			t.Fatalf("facts %x, %v", have, err)
		}
	}
}

// Promise 3. TestBlockDamage changes every bit and cuts at every byte.
func TestBlockDamage(t *testing.T) {
	h, facts := sample(true)
	value := AppendBlock(nil, &h, facts)
	for i := range value {
		for bit := range 8 {
			bad := bytes.Clone(value)
			bad[i] ^= 1 << bit
			if _, err := OpenBlock(bad); err == nil || i != 3 && protocol.KindOf(err) != protocol.KindCorrupt {
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
		}
		if _, err := OpenBlock(value[:i]); err == nil {
			t.Fatalf("a block may be cut at byte %d", i)
		}
	}
}

// A state of nobody is refused: by it the one who gives the states says that there is one he cannot give.
func TestStateOfNobodyIsRefused(t *testing.T) {
	var snap bytes.Buffer
	w, err := NewSnapshotWriter(&snap, Manifest{Scene: "tavern"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add("", []byte{1}); protocol.KindOf(err) != protocol.KindInvalid {
		t.Error(err)
	}
}

// Promise 3: a newer version is named, and is no damage.
func TestNewerVersionsAreNamed(t *testing.T) {
	h, facts := sample(false)
	block := AppendBlock(nil, &h, facts)
	head := AppendHead(nil, NewHead("tavern"))
	entry := AppendEntry(nil, &Entry{Header: h, Kinds: []string{"k"}})
	var snap bytes.Buffer
	if _, err := NewSnapshotWriter(&snap, Manifest{Scene: "tavern"}); err != nil {
		t.Fatal(err)
	}
	for what, read := range map[string]func(b []byte) error{
		"block":       func(b []byte) error { _, err := OpenBlock(b); return err },
		"head":        func(b []byte) error { _, err := ReadHead(b); return err },
		"index entry": func(b []byte) error { _, err := ReadEntry(b, 7); return err },
		"snapshot":    func(b []byte) error { _, err := (&snapshotReader{r: bytes.NewReader(b)}).manifest(); return err },
	} {
		b := map[string][]byte{"block": block, "head": head, "index entry": entry, "snapshot": snap.Bytes()}[what]
		if err := read(b); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		b[3] = 9
		if err := read(b); protocol.KindOf(err) != protocol.KindUnknown || !strings.Contains(err.Error(), "version 9") {
			t.Errorf("%s of version 9: %v", what, err)
		}
	}
}

func TestEntryRoundTrip(t *testing.T) {
	h, _ := sample(true)
	s := NewSummary(4096, 0)
	for i := range 300 {
		s.Add(protocol.Time(1000-i), fmt.Sprintf("actor-%d", i/3), []string{"B", "A", "C"}[i%3])
	}
	e := Entry{Header: h, Stored: 99}
	s.Fill(&e, nil)
	have, err := ReadEntry(AppendEntry(nil, &e), h.First)
	if err != nil || have.Stored != 99 || have.MinTime != 701 || have.MaxTime != 1000 || !slices.Equal(have.Kinds, []string{"A", "B", "C"}) {
		t.Fatalf("read %+v, %v", have, err)
	}
	if have.Header.Digest != h.Digest || have.WaveFirst != h.WaveFirst || have.Last() != h.Last() {
		t.Fatalf("header %+v; want %+v", have.Header, h)
	}
	if !have.MayHoldKind("B") || have.MayHoldKind("D") {
		t.Error("kinds")
	}
	wrong := 0
	for i := range 1000 {
		if i < 100 && !have.MayHoldActor(fmt.Sprintf("actor-%d", i)) {
			t.Fatalf("actor %d is denied", i)
		}
		if have.MayHoldActor(fmt.Sprintf("absent-%d", i)) {
			wrong++
		}
	}
	if wrong > 100 || len(have.Filter) > 256 {
		t.Fatalf("%d of 1000 absent actors are said to be there, by a filter of %d bytes for 100 actors", wrong, len(have.Filter))
	}
}

// TestEntryTraces: an entry with traces denies absent ones, of its own rule only;
// one without denies none.
func TestEntryTraces(t *testing.T) {
	h, _ := sample(true)
	s := NewSummary(4096, 3)
	s.Add(1, "a", "k")
	for i := range 200 {
		s.AddTrace(fmt.Appendf(nil, "trace-%d", i))
	}
	e := Entry{Header: h}
	s.Fill(&e, nil)
	have, err := ReadEntry(AppendEntry(nil, &e), h.First)
	if err != nil || have.Rule != 3 || !have.SameFilters(&e) || !have.MayHoldActor("a") || have.MayHoldActor("b") {
		t.Fatalf("read %+v, %v", have, err)
	}
	wrong := 0
	for i := range 1000 {
		if i < 200 && !have.MayHoldTrace(3, fmt.Sprintf("trace-%d", i)) {
			t.Fatalf("trace %d is denied", i)
		}
		if have.MayHoldTrace(3, fmt.Sprintf("absent-%d", i)) {
			wrong++
		}
	}
	if wrong > 100 || !have.MayHoldTrace(2, "absent-1") {
		t.Fatalf("%d of 1000 absent traces are said to be there", wrong)
	}
	s.Reset()
	s.Add(1, "a", "k")
	if s.Fill(&e, nil); e.MayHoldTrace(3, "trace-1") {
		t.Fatal("a block without traces may hold one")
	}
	if e := (Entry{}); !e.MayHoldTrace(3, "x") {
		t.Fatal("an entry of version 1 denies a trace")
	}
}

// Filters of writers with blocks of different sizes are compared by what they hold.
func TestSameFilters(t *testing.T) {
	fill := func(size, names int) Entry {
		s := NewSummary(size, 1)
		for i := range names {
			s.Add(1, fmt.Sprint(i), "k")
			s.AddTrace(fmt.Append(nil, i))
		}
		var e Entry
		s.Fill(&e, nil)
		return e
	}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.IntRange(1, 300).Draw(t, "names")
		a, b := fill(rapid.IntRange(1, 5000).Draw(t, "a"), names), fill(rapid.IntRange(1, 5000).Draw(t, "b"), names)
		if !a.SameFilters(&b) {
			t.Fatalf("the same %d names in filters of %d and %d bytes differ", names, len(a.Filter), len(b.Filter))
		}
		other := fill(4096, 400)
		if a := fill(4096, names); a.SameFilters(&other) {
			t.Fatalf("%d names have the filters of 400", names)
		}
	})
}

func TestManyKinds(t *testing.T) {
	s := NewSummary(10, 0)
	for i := range MaxKinds + 1 {
		s.Add(1, "a", fmt.Sprintf("kind-%d", i))
	}
	e := Entry{Header: Header{Count: 1}}
	s.Fill(&e, nil)
	have, err := ReadEntry(AppendEntry(nil, &e), 1)
	if err != nil || !have.MayHoldKind("anything") {
		t.Fatalf("%+v, %v", have, err)
	}
}

func TestHeadRoundTrip(t *testing.T) {
	if NewHead("a").Digest == NewHead("b").Digest {
		t.Fatal("two scenes begin with one digest")
	}
	h := Head{Wave: 4, Seq: 99, Total: 12345, Digest: Digest{9}}
	value := AppendHead(nil, h)
	if have, err := ReadHead(value); err != nil || have != h {
		t.Fatalf("read %+v, %v", have, err)
	}
	for i := range value {
		bad := bytes.Clone(value)
		bad[i] ^= 4
		if _, err := ReadHead(bad); err == nil {
			t.Fatalf("byte %d may change", i)
		}
	}
}

func TestNoteRoundTrip(t *testing.T) {
	for _, note := range []string{"", "n", strings.Repeat("note", 1000)} {
		value := AppendNote(nil, []byte(note))
		if have, err := ReadNote(value); err != nil || string(have) != note {
			t.Fatalf("read %q, %v", have, err)
		}
		for i := range value {
			bad := bytes.Clone(value)
			bad[i] ^= 4
			if _, err := ReadNote(bad); err == nil {
				t.Fatalf("byte %d may change", i)
			}
		}
	}
}

// TestFactRoundTrip holds that facts of any content come back, and that equal
// facts have equal bytes.
func TestFactRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "facts")
		var want []protocol.Record
		var b []byte
		for i := range n {
			r := protocol.Record{
				Seq: uint64(i + 5), Time: protocol.Time(rapid.Int64().Draw(t, "time")),
				Actor: rapid.StringN(0, 200, MaxActor).Draw(t, "actor"), Kind: rapid.StringN(0, 60, MaxKind).Draw(t, "kind"),
				Data: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data"),
			}
			if err := CheckFact(r.Actor, r.Kind, r.Data); err != nil {
				t.Fatal(err)
			}
			before := len(b)
			b = AppendFact(b, r.Time, r.Actor, r.Kind, r.Data)
			if len(b)-before > FactSize(r.Actor, r.Kind, r.Data) {
				t.Fatal("FactSize is too small")
			}
			want = append(want, r)
		}
		i := 0
		err := Records(b, 5, n, nil, func(b []byte) string { return string(b) }, func(r protocol.Record) error {
			w := want[i]
			if r.Seq != w.Seq || r.Time != w.Time || r.Actor != w.Actor || r.Kind != w.Kind || !bytes.Equal(r.Data, w.Data) {
				return fmt.Errorf("fact %d is %+v; want %+v", i, r, w)
			}
			i++
			return nil
		})
		if err != nil || i != n {
			t.Fatalf("%d of %d facts: %v", i, n, err)
		}
	})
}

func TestSnapshotRoundTrip(t *testing.T) {
	m := Manifest{Scene: "tavern", Wave: 3, Seq: 99, Digest: Digest{7}}
	file := snapshotFile(t, m, 3000)
	n := 0
	have, totals, err := ReadSnapshot(bytes.NewReader(file), func(actor string, state []byte) error {
		if want := snapshotState(n); actor != fmt.Sprint("actor-", n) || !bytes.Equal(state, want) {
			return fmt.Errorf("state %d is %s: %x", n, actor, state)
		}
		n++
		return nil
	})
	if err != nil || have != m || n != 3000 || totals.Entries != 3000 || totals.Chunks < 2 {
		t.Fatalf("%+v %+v after %d states: %v", have, totals, n, err)
	}
}

// A state that is larger than a piece comes back whole, whatever its neighbours are; a file that ends within one, or
// goes on with another, is damaged.
func TestSnapshotInPieces(t *testing.T) {
	sizes := []int{5, 100, 101, 0, 250, 200, 3, 1000}
	write := func(spoil func(sw *SnapshotWriter)) []byte {
		var file bytes.Buffer
		sw, err := NewSnapshotWriter(&file, Manifest{Scene: "tavern"})
		if err != nil {
			t.Fatal(err)
		}
		sw.most = 100
		for i, n := range sizes {
			err = errors.Join(err, sw.Add(fmt.Sprint("actor-", i), bytes.Repeat([]byte{byte(i)}, n)))
		}
		if spoil != nil {
			spoil(sw)
		}
		if err := errors.Join(err, sw.Close()); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
	file, n := write(nil), 0
	_, totals, err := ReadSnapshot(bytes.NewReader(file), func(actor string, state []byte) error {
		if want := bytes.Repeat([]byte{byte(n)}, sizes[n]); actor != fmt.Sprint("actor-", n) || !bytes.Equal(state, want) {
			return fmt.Errorf("state %d is %s: %x", n, actor, state)
		}
		n++
		return nil
	})
	if err != nil || n != len(sizes) || totals.Entries != uint64(len(sizes)) {
		t.Fatalf("%+v after %d states: %v", totals, n, err)
	}
	if _, _, err := ReadSnapshot(bytes.NewReader(file), nil); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*SnapshotWriter){
		"ends within the state of": func(sw *SnapshotWriter) { _ = sw.piece("last", []byte("x")) },
		"within that of":           func(sw *SnapshotWriter) { _ = sw.piece("last", []byte("x")); _ = sw.Add("other", nil) },
		"in the chunk of a piece":  func(sw *SnapshotWriter) { sw.entry("a", nil); _ = sw.flush(tagPiece) },
	} {
		if _, _, err := ReadSnapshot(bytes.NewReader(write(spoil)), nil); protocol.KindOf(err) != protocol.KindCorrupt || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func snapshotState(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8)}, i%700) }

func snapshotFile(t testing.TB, m Manifest, states int) []byte {
	t.Helper()
	var file bytes.Buffer
	sw, err := NewSnapshotWriter(&file, m)
	if err != nil {
		t.Fatal(err)
	}
	for i := range states {
		if err := sw.Add(fmt.Sprint("actor-", i), snapshotState(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := sw.Close(); err != nil {
		t.Fatal(err)
	}
	if int(sw.Size()) != file.Len() || sw.totals.Entries != uint64(states) {
		t.Fatalf("size %d and totals %+v of %d bytes", sw.Size(), sw.totals, file.Len())
	}
	return file.Bytes()
}

// sealed makes the checksum at the end of b fit, or a fuzzer would come no
// further than that.
func sealed(b []byte) []byte {
	end := max(0, len(b)-checksumSize)
	return binary.BigEndian.AppendUint64(bytes.Clone(b[:end]), xxh3.Hash(b[:end]))
}
