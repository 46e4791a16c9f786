//go:build amd64 || arm64

package folders

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const word = "swordfish"

func hasWord(text string) bool { return strings.Contains(text, word) }

// A file of any size is read whole: one without a secret stays, and no place in one hides a secret.
func TestLargeFilesAreRead(t *testing.T) {
	for _, c := range []struct {
		size, at int64 // at < 0 = there is no secret
	}{{20 << 20, -1}, {20 << 20, 20<<20 - int64(len(word))}, {3 * window, window - 4}, {3 * window, window - overlap - 4}, {3 * window, 2*window - overlap - 4}, {window, window - int64(len(word))}, {window + 1, -1}} {
		dir := t.TempDir()
		f, err := os.Create(dir + "/f")
		if err == nil && c.at >= 0 {
			_, err = f.WriteAt([]byte(word), c.at)
		}
		if err := errors.Join(err, f.Truncate(c.size), f.Close()); err != nil { // it takes no room
			t.Fatal(err)
		}
		gone, err := Sweep([]string{dir}, Moment(), hasWord)
		if err != nil || len(gone.Unread) > 0 || (len(gone.Files) > 0) != (c.at >= 0) {
			t.Errorf("%+v: %+v, %v", c, gone, err)
		}
	}
	dir := t.TempDir()
	for i := range 12 {
		if err := errors.Join(os.WriteFile(fmt.Sprint(dir, "/", i), nil, 0o600), os.Truncate(fmt.Sprint(dir, "/", i), 9<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if gone, err := Sweep([]string{dir}, Moment(), hasWord); err != nil || gone.Any() {
		t.Errorf("%+v, %v", gone, err)
	}
}

// Without a moment every file is looked at, whatever its times are.
func TestASweepOfAll(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/f", []byte(word), 0o600); err != nil {
		t.Fatal(err)
	}
	if gone, err := Sweep([]string{dir}, time.Now().Add(time.Hour), hasWord); err != nil || gone.Any() {
		t.Errorf("%+v, %v", gone, err)
	}
	if gone, err := Sweep([]string{dir}, time.Time{}, hasWord); err != nil || !slices.Equal(gone.Files, []string{"f"}) {
		t.Errorf("%+v, %v", gone, err)
	}
}

// What this program cannot do says nothing of a file: nothing is removed, and the sweep fails.
func TestASweepWithoutDescriptors(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(dir+"/d/e", 0o700), os.WriteFile(dir+"/fine", []byte("fine"), 0o600), os.WriteFile(dir+"/d/e/key", []byte(word), 0o600)); err != nil {
		t.Fatal(err)
	}
	last, err := os.Open(dir) // the next one has a number beyond it
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	for more := range 12 {
		few := was
		few.Cur = uint64(last.Fd()) + 1 + uint64(more)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
			t.Fatal(err)
		}
		gone, err := Sweep([]string{dir}, time.Time{}, hasWord)
		is := Measure([]string{dir}, 100, true)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
		if is.Hidden != nil && !OfMachine(is.Hidden) {
			t.Errorf("%d more: %v", more, is.Hidden)
		}
		if _, err := os.Stat(dir + "/fine"); err != nil {
			t.Fatalf("%d more: %v", more, err)
		}
		_, there := os.Stat(dir + "/d/e")
		_, key := os.Stat(dir + "/d/e/key")
		switch {
		case there != nil:
			t.Fatalf("%d more: a folder is gone", more)
		case err == nil && (key == nil || !slices.Equal(gone.Files, []string{"d/e/key"})):
			t.Errorf("%d more: it looked at nothing, and says nothing: %+v", more, gone)
		case err == nil && more == 0:
			t.Error("the test has too many descriptors")
		case err == nil:
			return
		case !OfMachine(err):
			t.Errorf("%d more: %v", more, err)
		}
	}
	t.Error("it never worked")
}

// No mode of a folder keeps a file with a secret, or a folder that is named by one.
func TestFoldersThatMayNotBeWritten(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(dir+"/d", 0o700), os.WriteFile(dir+"/d/key", []byte(word), 0o600), os.WriteFile(dir+"/d/fine", nil, 0o600),
		os.MkdirAll(dir+"/"+word+"/e", 0o700), os.WriteFile(dir+"/"+word+"/e/f", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir+"/d", 0o555), os.Chmod(dir+"/"+word+"/e", 0o555), os.Chmod(dir+"/"+word, 0o555)); err != nil {
		t.Fatal(err)
	}
	gone, err := Sweep([]string{dir}, time.Time{}, hasWord)
	if slices.Sort(gone.Files); err != nil || !slices.Equal(gone.Files, []string{"d/key", word}) {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := os.Stat(dir + "/d/key"); !os.IsNotExist(err) {
		t.Error("the file is there")
	}
	if _, err := os.Stat(dir + "/" + word); !os.IsNotExist(err) {
		t.Error("the folder is there")
	}
}
