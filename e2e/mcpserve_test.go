package e2e_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A client of others calls everything that simd mcp serve offers, over stdio and over HTTP
// with a token; with a wrong token it is refused.
func TestForeignMCPClient(t *testing.T) {
	modules := os.Getenv("SIMD_TEST_MCP")
	if modules == "" {
		t.Skip("SIMD_TEST_MCP names no folder node_modules")
	}
	modules, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	simd := filepath.Join(dir, "simd")
	run := func(name string, args ...string) (string, error) {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Stderr = os.Stderr
		out, err := c.Output()
		return string(out), err
	}
	if out, err := run("go", "build", "-o", simd, "../cmd/simd"); err != nil {
		t.Fatal(err, out)
	}
	served := []string{"mcp", "serve", "../scenes/examples/harbour", "--tools", "mock", "--runs", filepath.Join(dir, "runs")}
	client := []string{"testdata/mcp-client.cjs", modules}
	check := func(out string, err error) {
		t.Helper()
		for _, want := range []string{
			`{"tools":["simd_inspect","simd_run","simd_run_status","simd_run_stop","simd_validate","weather_wind_b844b5"]}`,
			`"sound":true`, `{"simd_run":{"error":"invalid: --agents 0: want a whole number from 1 on"}}`, `"state":"ended"`,
			`{"simd_inspect":{"rows":[{"agent":"mira"`, `{"weather_wind_b844b5":{"current":{"wind_speed_10m":12}}}`, `{"summary":true}`, `{"cancelled":true}`, `"state":"resumable"`,
		} {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%v: there is no %s in %s", err, want, out)
			}
		}
	}
	check(run("node", append(client, append([]string{"stdio", simd}, served...)...)...))

	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := exec.CommandContext(ctx, simd, append(served, "--http", "127.0.0.1:0", "--token-file", token)...)
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	said, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, at, _ := strings.Cut(line, "MCP at ")
	at, _, _ = strings.Cut(at, ",")
	check(run("node", append(client, "http", at, "s3cret")...))
	if out, err := run("node", append(client, "http", at, "wrong")...); err == nil || !strings.Contains(out, "the token is missing or wrong") {
		t.Errorf("a wrong token: %v, %s", err, out)
	}
	stop()
	if err := server.Wait(); server.ProcessState.ExitCode() != 0 {
		t.Errorf("the server ended with %v", err)
	}
}
