package wasm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exits is a module whose _start ends with exit code 7.
const exits = "\x00asm\x01\x00\x00\x00" + "\x01\x08\x02\x60\x01\x7f\x00\x60\x00\x00" + "\x02\x24\x01\x16wasi_snapshot_preview1\x09proc_exit\x00\x00" +
	"\x03\x02\x01\x01" + "\x07\x0a\x01\x06_start\x00\x01" + "\x0a\x08\x01\x06\x00\x41\x07\x10\x00\x0b"

// traps is the same one, which reaches what cannot be reached.
func traps() string {
	return strings.Replace(exits, "\x0a\x08\x01\x06\x00\x41\x07\x10\x00\x0b", "\x0a\x05\x01\x03\x00\x00\x0b", 1)
}

// A module gives its exit code; what is none, has no entry, traps or is too large is an error that
// says so.
func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		module string
		code   int
		why    string
	}{
		"it exits":  {exits, 7, ""},
		"it traps":  {traps(), 0, "unreachable"},
		"no module": {"nonsense", 0, "it is no WebAssembly module"},
		"no entry":  {"\x00asm\x01\x00\x00\x00", 0, "no function _start"},
		"too large": {strings.Repeat("x", MaxModule+1), 0, "more than 4194304 bytes"},
	} {
		file := filepath.Join(t.TempDir(), "m.wasm")
		if err := os.WriteFile(file, []byte(c.module), 0o600); err != nil {
			t.Fatal(err)
		}
		code, err := run(t.Context(), file, nil)
		if code != c.code || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %d, %v", name, code, err)
		}
	}
	if code := Run(filepath.Join(t.TempDir(), "none"), nil); code != failed {
		t.Error(code)
	}
}

// prestat is a module whose exit code is what WASI says of a descriptor: 0 = it is a folder that the module
// sees, 8 = there is none.
func prestat(fd int) string {
	const wasi = "\x16wasi_snapshot_preview1"
	return "\x00asm\x01\x00\x00\x00" + "\x01\x0e\x03\x60\x01\x7f\x00\x60\x00\x00\x60\x02\x7f\x7f\x01\x7f" +
		"\x02\x4c\x02" + wasi + "\x09proc_exit\x00\x00" + wasi + "\x0efd_prestat_get\x00\x02" +
		"\x03\x02\x01\x01" + "\x05\x03\x01\x00\x01" + "\x07\x13\x02\x06_start\x00\x02\x06memory\x02\x00" +
		"\x0a\x0c\x01\x0a\x00\x41" + string(rune(fd)) + "\x41\x00\x10\x01\x10\x00\x0b"
}

// Promise 1: descriptors from 3 on are the folders that exist, and there are no others.
func TestFoldersOfAModule(t *testing.T) {
	folders := 0
	for _, f := range Folders() {
		if info, err := os.Stat(f.Path); err == nil && info.IsDir() {
			folders++
		}
	}
	for fd := 3; fd <= 3+folders; fd++ {
		want := 0
		if fd == 3+folders {
			want = 8
		}
		if code := module(t, prestat(fd)); code != want {
			t.Errorf("descriptor %d of %d folders: %d, want %d", fd, folders, code, want)
		}
	}
}

// Promise 2: a module that wants a page more than the bound does not run.
func TestMemoryOfAModule(t *testing.T) {
	wants := func(pages string) string {
		return strings.Replace(exits, "\x07\x0a\x01", "\x05\x04\x01\x00"+pages+"\x07\x0a\x01", 1)
	}
	if pages != 2048 {
		t.Fatalf("the bound is %d pages; write this test anew", pages)
	}
	if code := module(t, wants("\x80\x10")); code != 7 {
		t.Errorf("2048 pages: %d", code)
	}
	if code := module(t, wants("\x81\x10")); code != failed {
		t.Errorf("2049 pages: %d", code)
	}
}

func module(t *testing.T, text string) int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Run(file, nil)
}
