package sandbox

import (
	"strings"
	"testing"

	"tavernsim/tools/sandbox/remains"
)

// Promise 6: a program that aborts leaves no core, and cannot allow itself one.
func TestCores(t *testing.T) {
	const aborts = `ulimit -c; ulimit -Hc; ulimit -c unlimited 2>/dev/null && echo raised; sh -c 'kill -ABRT $$'; echo "ended $?"`
	boxes(t, func(t *testing.T, b *Box) {
		r := run(t, b, Command{Argv: shell(aborts), Keep: remains.Keep{Files: 10, Bytes: 1 << 20}})
		said := string(r.Stdout.Bytes) + string(r.Stderr.Bytes)
		if !strings.HasPrefix(said, "0\n0\nended 134\n") || !strings.Contains(said, "Aborted") || strings.Contains(said, "core") || len(r.Files)+r.Left > 0 {
			t.Errorf("%q, %d files and %d", said, len(r.Files), r.Left)
		}
	})
}
