//go:build amd64 || arm64

package sandbox

import (
	"strings"
	"testing"
)

// moduleThatExits is a module of WebAssembly that ends with exit code 7.
const moduleThatExits = "\x00asm\x01\x00\x00\x00\x01\x08\x02\x60\x01\x7f\x00\x60\x00\x00\x02\x24\x01\x16wasi_snapshot_preview1\x09proc_exit\x00\x00\x03\x02\x01\x01\x07\x0a\x01\x06_start\x00\x01\x0a\x08\x01\x06\x00\x41\x07\x10\x00\x0b"

// A module runs in the profile wasm; what is none is an exit code with a reason.
func TestModules(t *testing.T) {
	b := New(Options{})
	if r := b.Probe(t.Context()); len(r.Missing()) > 0 {
		t.Skipf("no sandbox here: %v", r.Missing())
	}
	for name, c := range map[string]struct {
		data, says string
		exit       int
	}{"m.wasm": {moduleThatExits, "", 7}, "n.wasm": {"nonsense", "n.wasm: it is no WebAssembly module", 70}} {
		r, err := b.Run(t.Context(), Command{Profile: Wasm, Argv: []string{"./" + name}, Dir: Files, Files: []File{{Path: name, Data: []byte(c.data)}}})
		if err != nil || r.Exit != c.exit || !strings.Contains(string(r.Stderr.Bytes), c.says) {
			t.Errorf("%s: %+v %s %v", name, r, r.Stderr.Bytes, err)
		}
	}
}
