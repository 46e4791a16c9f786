package main

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tavernsim/cmd/simd/cli"
)

// A client on stdio starts a run, waits for its end and looks at it; when it leaves, the
// server interrupts what goes on.
func TestMCPServe(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	runs := filepath.Join(t.TempDir(), "runs")
	// call starts a server, calls one tool, and leaves.
	call := func(params string) map[string]any {
		t.Helper()
		in, to := io.Pipe()
		from, out := io.Pipe()
		code := make(chan int, 1)
		var errs strings.Builder
		go func() {
			code <- execute(context.Background(), []string{"mcp", "serve", "../../scenes/examples/herbalist", "--runs", runs}, in, out, &errs)
			out.Close()
		}()
		answers := json.NewDecoder(from)
		var a struct {
			Result struct {
				Structured map[string]any `json:"structuredContent"`
			} `json:"result"`
		}
		for _, line := range []string{
			`{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}`,
			`{"jsonrpc": "2.0", "method": "notifications/initialized"}`,
			`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ` + params + `}`,
		} {
			if _, err := io.WriteString(to, line+"\n"); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(line, "notifications") {
				if err := answers.Decode(&a); err != nil {
					t.Fatal(err)
				}
			}
		}
		to.Close()
		if rest, _ := io.ReadAll(from); len(rest) > 0 {
			t.Errorf("stdout ends with %q", rest)
		}
		if got := <-code; got != cli.ExitOK || errs.String() != "MCP over stdin and stdout, 5 tools\n" {
			t.Errorf("exit code %d: %s", got, errs.String())
		}
		return a.Result.Structured
	}
	run := call(`{"name": "simd_run", "arguments": {"ticks": 100000000}}`)["run"].(string)
	if state := call(`{"name": "simd_run_status", "arguments": {"run": "` + run + `"}}`)["state"]; state != "resumable" {
		t.Errorf("the run is %v", state)
	}
	var out, errs strings.Builder
	for _, args := range [][]string{{"--http", "0.0.0.0:0"}, {"--token-file", "x"}, {"--http", "nowhere"}, {"--tools", "some"}} {
		if code := execute(context.Background(), append([]string{"mcp", "serve", "../../scenes/examples/herbalist"}, args...), strings.NewReader(""), &out, &errs); code != cli.ExitUsage {
			t.Errorf("%v: exit code %d: %s", args, code, errs.String())
		}
	}
}
