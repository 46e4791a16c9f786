package artifact

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"tavernsim/protocol"
)

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range all {
		list = append(list, e.Name())
	}
	return list
}

func put(t *testing.T, s *Store, o Owner, text string) string {
	t.Helper()
	id, size, err := s.Put(o, strings.NewReader(text))
	if err != nil || size != int64(len(text)) {
		t.Fatal(id, size, err)
	}
	return id
}

// Promises 1 and 3: the id is the hash of the bytes; the same bytes are one file.
func TestPutAndRead(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "deep", "artifacts"), DefaultLimits())
	const abc = "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if list, err := s.List(); list != nil || err != nil {
		t.Error(list, err)
	}
	for range 2 {
		if id := put(t, s, Owner{}, "abc"); id != abc {
			t.Error(id)
		}
	}
	if got := names(t, s.Dir()); len(got) != 1 || got[0] != abc {
		t.Error(got)
	}
	if data, err := s.Read(abc); err != nil || string(data) != "abc" {
		t.Errorf("%q %v", data, err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), abc), []byte("abd"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(abc); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Error(err)
	}
	for id, want := range map[string]protocol.ErrorKind{
		"sha256-" + strings.Repeat("0", 64): protocol.KindNotFound,
		"sha256-" + strings.Repeat("Z", 64): protocol.KindInvalid, "../x": protocol.KindInvalid, "": protocol.KindInvalid,
		"sha256-" + strings.Repeat("0", 63) + "/": protocol.KindInvalid,
	} {
		if _, err := s.Read(id); protocol.KindOf(err) != want {
			t.Errorf("%q: %v, want %s", id, err, want)
		}
	}
}

// Promise 2: nothing is left of what a bound refuses, or of bytes that break off.
func TestBounds(t *testing.T) {
	s := New(t.TempDir(), Limits{Each: 10, Turn: 25, Run: 40})
	ada := Owner{Scene: "s", Agent: "ada", Turn: 1}
	refused := func(o Owner, data io.Reader, want protocol.ErrorKind, words string) {
		t.Helper()
		before := names(t, s.Dir())
		if _, _, err := s.Put(o, data); protocol.KindOf(err) != want || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %s %q", err, want, words)
		}
		if after := names(t, s.Dir()); len(after) != len(before) {
			t.Errorf("%v were %v", after, before)
		}
	}
	refused(ada, strings.NewReader("0123456789x"), protocol.KindLimit, "has at most 10 bytes")
	refused(ada, io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(errors.New("broken"))), protocol.KindTransient, "broken")
	put(t, s, ada, "0123456789")
	put(t, s, ada, "0123456789") // the turn made it again
	refused(ada, strings.NewReader("abcde!"), protocol.KindLimit, "of one turn have at most 25")
	put(t, s, Owner{Scene: "s", Agent: "ada", Turn: 2}, "abcdefghij")
	put(t, s, Owner{Scene: "s", Agent: "bob", Turn: 1}, "ABCDEFGHIJ")
	put(t, s, Owner{Scene: "z", Agent: "bob", Turn: 1}, "klmnopqrst")
	refused(Owner{Scene: "z", Agent: "cy", Turn: 1}, strings.NewReader("!"), protocol.KindLimit, "of a run have at most 40")
}

// A store counts what an earlier process left.
func TestTheRunIsCounted(t *testing.T) {
	dir := t.TempDir()
	put(t, New(dir, Limits{10, 100, 15}), Owner{}, "0123456789")
	s := New(dir, Limits{10, 100, 15})
	if _, _, err := s.Put(Owner{}, strings.NewReader("abcdef")); protocol.KindOf(err) != protocol.KindLimit || !strings.Contains(err.Error(), "of a run have at most 15") {
		t.Error(err)
	}
	put(t, s, Owner{}, "abcde")
}

// Promise 4: links lead nowhere.
func TestLinks(t *testing.T) {
	s := New(t.TempDir(), DefaultLimits())
	outside := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(outside, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	id := put(t, s, Owner{}, "abc")
	name := filepath.Join(s.Dir(), id)
	if err := errors.Join(os.Remove(name), os.Symlink(outside, name)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(id); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Error(err)
	}
	put(t, s, Owner{}, "abc")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		t.Error(info, err)
	}
	if data, err := os.ReadFile(outside); string(data) != "abc" {
		t.Error(data, err)
	}
}

func TestCollect(t *testing.T) {
	s := New(t.TempDir(), DefaultLimits())
	kept, other := put(t, s, Owner{}, "kept"), put(t, s, Owner{}, "other")
	for _, name := range []string{".part-X", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(s.Dir(), name), []byte("12345"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, bytes, err := s.Collect(func(id string) bool { return id == kept })
	if files != 2 || bytes != 10 || err != nil {
		t.Error(files, bytes, err)
	}
	if got := strings.Join(names(t, s.Dir()), " "); got != "notes.txt "+kept || strings.Contains(got, other) {
		t.Error(got)
	}
	if files, _, err := New(filepath.Join(s.Dir(), "none"), DefaultLimits()).Collect(nil); files != 0 || err != nil {
		t.Error(files, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := New(t.TempDir(), DefaultLimits())
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			data := bytes.Repeat([]byte{byte(i % 4)}, 100_000)
			id, _, err := s.Put(Owner{Turn: uint64(i)}, bytes.NewReader(data))
			if got, broke := s.Read(id); err != nil || broke != nil || !bytes.Equal(got, data) {
				t.Error(err, broke)
			}
		})
	}
	all.Wait()
	if got := names(t, s.Dir()); len(got) != 4 {
		t.Error(got)
	}
}

func BenchmarkPut(b *testing.B) {
	s := New(b.TempDir(), Limits{1 << 30, 1 << 40, 1 << 40})
	data := bytes.Repeat([]byte("x"), 64<<10)
	b.SetBytes(int64(len(data)))
	for i := range b.N {
		data[0], data[1], data[2] = byte(i), byte(i>>8), byte(i>>16)
		if _, _, err := s.Put(Owner{Turn: uint64(i)}, bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}
