package pebbledb

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tavernsim/protocol"
)

// changing is a file system on which something happens when a file is opened.
type changing struct {
	vfs.FS
	opened func(name string)
}

func (c changing) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.FS.Open(name, opts...)
	c.opened(name)
	return f, err
}

func put(t *testing.T, fsys vfs.FS, name, text string) {
	t.Helper()
	f, err := fsys.Create(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	f, err := fsys.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A log that is replaced while files are held is no part of the moment.
func TestFreezeIsOneMoment(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("s/db", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, mem, "s/db/000001.log", "old")
	put(t, mem, "s/db/MANIFEST-000002", "a")
	put(t, mem, "s/db/LOCK", "")
	flushed := false
	base := changing{mem, func(name string) {
		if name == "s/db/LOCK" {
			t.Error("the lock file was opened: to close it gives a lock of this process back")
		}
		if name == "s/db/MANIFEST-000002" && !flushed {
			flushed = true
			put(t, mem, "s/db/000003.log", "new")
			put(t, mem, "s/db/000004.sst", "table")
			put(t, mem, "s/db/MANIFEST-000002", "ab")
			_ = mem.Remove("s/db/000001.log")
		}
	}}
	f, err := Freeze(base, "s", "db")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names, err := f.List("s/db")
	slices.Sort(names)
	if want := []string{"000003.log", "000004.sst", "MANIFEST-000002"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v; want %q", names, err, want)
	}
	if get(t, f, "s//db/MANIFEST-000002") != "ab" || get(t, f, "s/db/000003.log") != "new" {
		t.Error("not the files of that moment")
	}
	put(t, mem, "s/db/MANIFEST-000002", "abc")
	_ = mem.Remove("s/db/000004.sst")
	if get(t, f, "s/db/MANIFEST-000002") != "ab" || get(t, f, "s/db/000004.sst") != "table" || get(t, f, "s/db/000004.sst") != "table" {
		t.Error("what happened later is seen")
	}
	if _, err := f.Open("s/db/000005.sst"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := f.Remove("s/db/000003.log"); !errors.Is(err, syscall.EROFS) {
		t.Error(err)
	}
}

// A database that never rests is given up with an error.
func TestFreezeGivesUp(t *testing.T) {
	mem, log := vfs.NewMem(), byte('a')
	if err := mem.MkdirAll("s/db", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, mem, "s/db/MANIFEST-1", "")
	base := changing{mem, func(string) { log++; put(t, mem, "s/db/MANIFEST-1", string(make([]byte, log))) }}
	if _, err := Freeze(base, "s", "db"); protocol.KindOf(err) != protocol.KindTransient {
		t.Error(err)
	}
}
