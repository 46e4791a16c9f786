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
