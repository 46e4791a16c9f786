package folders

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tavernsim/tools/toolstest"
)

// What has a path longer than any call takes is counted, and so is what its programs may not
// list.
func TestSizes(t *testing.T) {
	dir := t.TempDir()
	at := toolstest.Deep(t, dir, 60)
	if err := at.WriteFile("file", make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = at.Close()
	if err := os.Mkdir(dir+"/hidden", 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := os.WriteFile(fmt.Sprint(dir, "/hidden/", i), make([]byte, 100), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, dir+"/hidden/link"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir+"/hidden", 0o300); err != nil {
		t.Fatal(err)
	}
	if is := Measure([]string{dir, dir + "/none"}, 1000, false); is.Files != 60+1+1+3+1+1 || is.Bytes != 1300 || is.Hidden != nil {
		t.Errorf("%+v", is)
	}
	if list := Measure([]string{dir + "/pipe"}, 1000, false); list.Hidden == nil {
		t.Error("a pipe is no folder")
	}
}

// A folder that its programs remove while one looks has nothing more: its system calls fail.
func TestRemovedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		if err := os.MkdirAll(fmt.Sprint(dir, "/gone", i, "/below/deeper"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	w := walker{see: func(_ *os.Root, _, path string, _ fs.FileInfo) error {
		if seen++; strings.HasSuffix(path, "/below") {
			return os.RemoveAll(dir + "/" + strings.TrimSuffix(path, "/below"))
		}
		return nil
	}}
	if err := w.folder(dir); err != nil || seen != 6 {
		t.Errorf("%v, %d seen", err, seen)
	}
}

// Looking ends behind the first file beyond the bound.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		if err := os.WriteFile(fmt.Sprint(dir, "/", i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for most, want := range map[int]int{2: 3, 4: 5, 5: 5} {
		if is := Measure([]string{dir}, most, false); is.Files != want || is.Hidden != nil {
			t.Errorf("at most %d: %+v", most, is)
		}
	}
}
