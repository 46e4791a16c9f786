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

// always is a scene that goes on for as long as it is let: nothing ends it in a century.
const always = `
id: always
name: For ever on the quay
agent_instances:
  - {instance_id: mira, profile_id: harbour_master}
initial_world_state: {sailings: 0, storms: 0}
simulation: {start_time: "2000-06-01T05:00:00Z", seed: 11, stop: {after: 876000h}}
`

// A client of others calls everything that simd mcp serve offers, over stdio and over HTTP
// with a token; with a wrong token it is refused. A run that has ended stays so when it is stopped.
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
	harbour := filepath.Join(dir, "harbour")
	if err := os.CopyFS(harbour, os.DirFS("../scenes/examples/harbour")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(harbour, "scenes", "always.yaml"), []byte(always), 0o600); err != nil {
		t.Fatal(err)
	}
	served := []string{"mcp", "serve", harbour, "--tools", "mock", "--runs", filepath.Join(dir, "runs")}
	client := []string{"testdata/mcp-client.cjs", modules}
	check := func(out string, err error) {
		t.Helper()
		for _, want := range []string{
			`{"tools":["simd_inspect","simd_run","simd_run_status","simd_run_stop","simd_validate","weather_wind_b844b5"]}`,
			`"sound":true`, `{"simd_run":{"error":"invalid: --agents 0: want a whole number from 1 on"}}`, `"state":"ended"`,
			`{"simd_inspect":{"rows":[{"agent":"mira"`, `{"weather_wind_b844b5":{"current":{"wind_speed_10m":12}}}`, `{"summary":true}`, `{"cancelled":true}`,
			`{"simd_run_stop":{"exit_code":130,`, `"state":"resumable"`, `{"simd_run_stop":{"exit_code":0,`,
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
