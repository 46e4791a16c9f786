package format

import (
	"bytes"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// Promises 2 and 4. What follows feeds bytes from outside to every decoder: no panic,
// and what is taken is what the encoder writes.

func FuzzOpenBlock(f *testing.F) {
	for _, closing := range []bool{false, true} {
		h, facts := sample(closing)
		f.Add(AppendBlock(nil, &h, facts))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		_, _ = OpenBlock(value)
		blk, err := OpenBlock(sealed(value))
		if err != nil {
			return
		}
		facts, err := blk.Facts()
		if err != nil {
			return
		}
		_ = Records(facts, blk.First, blk.Count, nil, func(b []byte) string { return string(b) }, func(protocol.Record) error { return nil })
	})
}

func FuzzReadFact(f *testing.F) {
	f.Add(AppendFact(nil, 5, "actor", "kind", []byte("data")))
	f.Add(AppendFact(nil, -5, "", "", bytes.Repeat([]byte{1}, 200)))
	f.Fuzz(func(t *testing.T, b []byte) {
		fact, rest, err := ReadFact(b)
		if err != nil {
			return
		}
		again := AppendFact(nil, fact.Time, string(fact.Actor), string(fact.Kind), fact.Data)
		if !bytes.Equal(append(again, rest...), b) {
			t.Fatalf("%x decodes to %+v, which encodes to %x", b, fact, again)
		}
	})
}

func FuzzReadEntry(f *testing.F) {
	for _, closing := range []bool{false, true} {
		h, _ := sample(closing)
		f.Add(AppendEntry(nil, &Entry{Header: h, Kinds: []string{"A", "B"}, Filter: make([]byte, 8)}))
		f.Add(AppendEntry(nil, &Entry{Header: h, Kinds: []string{strings.Repeat("k", MaxKind)}}))
		f.Add(AppendEntry(nil, &Entry{Header: h, Kinds: []string{"A"}, Rule: 1, Traces: make([]byte, 16), Filter: make([]byte, 8)}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = ReadEntry(b, 7)
		b = sealed(b)
		e, err := ReadEntry(b, 7)
		if err == nil && !bytes.Equal(AppendEntry(nil, &e), b) {
			t.Fatalf("%x decodes to %+v, which encodes to %x", b, e, AppendEntry(nil, &e))
		}
	})
}

func FuzzReadHead(f *testing.F) {
	f.Add(AppendHead(nil, NewHead("tavern")))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = ReadHead(b)
		b = sealed(b)
		h, err := ReadHead(b)
		if err == nil && !bytes.Equal(AppendHead(nil, h), b) {
			t.Fatalf("%x decodes to %+v", b, h)
		}
	})
}

func FuzzReadNote(f *testing.F) {
	f.Add(AppendNote(nil, []byte("note")))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = ReadNote(b)
		b = sealed(b)
		note, err := ReadNote(b)
		if err == nil && !bytes.Equal(AppendNote(nil, note), b) {
			t.Fatalf("%x decodes to %q", b, note)
		}
	})
}

func FuzzReadSnapshot(f *testing.F) {
	f.Add(snapshotFile(f, Manifest{Scene: "tavern", Wave: 1, Seq: 2}, 5))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = ReadSnapshot(bytes.NewReader(b), func(string, []byte) error { return nil })
	})
}

func FuzzParseKey(f *testing.F) {
	f.Add(AppendKey(nil, "tavern", FamilyBlock, 7))
	f.Add(HeadKey("tavern"))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := ParseKey(b)
		if err != nil {
			return
		}
		again := HeadKey(k.Scene)
		if k.Family != FamilyHead {
			again = AppendKey(nil, k.Scene, k.Family, k.Seq)
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%x parses to %+v, which is %x", b, k, again)
		}
	})
}
