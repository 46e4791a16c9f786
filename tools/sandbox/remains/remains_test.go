package remains_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"tavernsim/tools/sandbox/remains"
	"tavernsim/tools/toolstest"
)

func TestThereAndBack(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "one", "sub/b": "", "given": "same", ".c": "x", "__pycache__/d": "x", "z": "too much for the rest"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	keep := remains.Keep{Files: 5, Bytes: 10}
	var pipe bytes.Buffer
	left := remains.Send(&pipe, dir, keep, func(path string, data []byte) bool { return path == "given" && string(data) == "same" })
	sent := bytes.Clone(pipe.Bytes())
	files := remains.Receive(&pipe, keep)
	if left != 1 || len(files) != 2 || files[0].Path != "a" || string(files[0].Data) != "one" || files[1].Path != "sub/b" {
		t.Errorf("%d left, %+v", left, files)
	}
	if less := remains.Receive(bytes.NewReader(sent[:len(sent)-3]), keep); len(less) != 1 {
		t.Errorf("cut: %+v", less)
	}
	if few := remains.Receive(bytes.NewReader(sent), remains.Keep{Files: 9, Bytes: 2}); len(few) != 0 {
		t.Errorf("beyond the bound: %+v", few)
	}
}

// A folder that cannot be listed counts as one that is left out: its mode forbids it, or its path is too long.
func TestFoldersThatCannotBeListed(t *testing.T) {
	dir := t.TempDir()
	_ = toolstest.Deep(t, dir, 30).Close()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := 1
	for _, folder := range []string{"shut", ".shut"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.ReadDir(filepath.Join(dir, "shut")); err != nil { // else the test has the rights of root
		want++
	}
	var pipe bytes.Buffer
	keep := remains.Keep{Files: 5, Bytes: 10}
	left := remains.Send(&pipe, dir, keep, func(string, []byte) bool { return false })
	if files := remains.Receive(&pipe, keep); left != want || len(files) != 1 {
		t.Errorf("%d left, want %d; %+v", left, want, files)
	}
}

// The worker collects no garbage, so Send may need no more than what it sends, and nothing
// for files without room.
func TestSendNeedsLittleMemory(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a": 1 << 20, "b": 8 << 20, "c": 8 << 20} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	left := remains.Send(io.Discard, dir, remains.Keep{Files: 5, Bytes: 2 << 20}, func(string, []byte) bool { return false })
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; left != 2 || took > 3<<19 {
		t.Errorf("%d left, %d bytes taken", left, took)
	}
}

// The engine does not trust what comes out of a sandbox.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02axx"))
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00../x"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		size := 0
		for _, x := range remains.Receive(bytes.NewReader(b), remains.Keep{Files: 3, Bytes: 100}) {
			if size += len(x.Data); x.Path == "" || filepath.IsAbs(x.Path) || !filepath.IsLocal(x.Path) {
				t.Errorf("%q", x.Path)
			}
		}
		if size > 100 {
			t.Error(size)
		}
	})
}
