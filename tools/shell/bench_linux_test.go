//go:build amd64 || arm64

package shell

import (
	"os/exec"
	"testing"

	"tavernsim/tools"
)

// BenchmarkCommand is a command in a session, beside a shell of its own for it without any
// sandbox.
func BenchmarkCommand(b *testing.B) {
	b.Run("session", func(b *testing.B) {
		k := newKit(b, Options{})
		k.do(b, "command", "cd /tmp")
		c := &tools.Call{Tool: definition("command"), Params: map[string]any{"content": "echo hello"}, Files: k.files, Owner: "ada"}
		for b.Loop() {
			if r := k.Call(b.Context(), c); r.Status != tools.OK {
				b.Fatal(r)
			}
		}
	})
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			if out, err := exec.CommandContext(b.Context(), "bash", "-c", "echo hello").Output(); err != nil || string(out) != "hello\n" {
				b.Fatal(err)
			}
		}
	})
}
