package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tavernsim/cmd/simd/cli"
	"tavernsim/tools/mcp/serve"
)

// A client on stdio starts a run, waits for its end and looks at it; when it leaves, the
// server interrupts what goes on.
func TestMCPServe(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	runs := filepath.Join(t.TempDir(), "runs")
	call := func(params string) map[string]any {
		t.Helper()
		return askServed(t, []string{"../../scenes/examples/herbalist", "--runs", runs}, "5 tools", "tools/call", params).Structured
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

// answered is what a server said to one request.
type answered struct {
	Tools      []map[string]any `json:"tools"`
	Structured map[string]any   `json:"structuredContent"`
}

// askServed starts a server with arguments, asks it one thing, and leaves. It has so many tools.
func askServed(t *testing.T, args []string, tools, method, params string) (a answered) {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	code := make(chan int, 1)
	var errs strings.Builder
	go func() {
		code <- execute(context.Background(), append([]string{"mcp", "serve"}, args...), in, out, &errs)
		out.Close()
	}()
	answers := json.NewDecoder(from)
	for _, line := range []string{
		`{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}`,
		`{"jsonrpc": "2.0", "method": "notifications/initialized"}`,
		`{"jsonrpc": "2.0", "id": 1, "method": "` + method + `", "params": ` + params + `}`,
	} {
		if _, err := io.WriteString(to, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(line, "notifications") {
			if err := answers.Decode(&struct{ Result *answered }{&a}); err != nil {
				t.Fatal(err)
			}
		}
	}
	to.Close()
	if rest, _ := io.ReadAll(from); len(rest) > 0 {
		t.Errorf("stdout ends with %q", rest)
	}
	if got := <-code; got != cli.ExitOK || errs.String() != "MCP over stdin and stdout, "+tools+"\n" {
		t.Errorf("exit code %d: %s", got, errs.String())
	}
	return a
}

// Without a name the project is the current folder. A tool is listed as 'simd tool schema --as mcp'
// prints it, and what it answers fits its outputSchema.
func TestMCPServeHere(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Setenv("SIMD_AUDIT", "off")
	t.Chdir("../../scenes/examples/harbour")
	var shown, errs strings.Builder
	if code := execute(context.Background(), []string{"tool", "schema", ".", "weather.wind", "--as", "mcp", "--json"}, strings.NewReader(""), &shown, &errs); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(shown.String()), &want); err != nil {
		t.Fatal(err)
	}
	here := []string{"--tools", "mock", "--runs", t.TempDir()}
	listed := askServed(t, here, "6 tools", "tools/list", `{}`).Tools
	if i := slices.IndexFunc(listed, func(x map[string]any) bool { return x["name"] == "weather_wind_b844b5" }); i < 0 || want["outputSchema"] == nil || !reflect.DeepEqual(listed[i], want) {
		t.Errorf("%v; want %v", listed, want)
	}
	wind := askServed(t, here, "6 tools", "tools/call", `{"name": "weather_wind_b844b5", "arguments": {"latitude": 43.3, "longitude": 5.4}}`)
	if wind.Structured["current"] == nil {
		t.Errorf("%+v", wind)
	}
}

// What became of the tools of a server is told as JSON, too, once it is written down.
func TestMCPPin(t *testing.T) {
	server := serve.New(serve.Offer{Name: "notes", Version: "1", Tools: []serve.Tool{{Name: "add", Parameters: map[string]any{"type": "object"}}}})
	at := httptest.NewServer(server.Handler(""))
	defer at.Close()
	defer server.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"project.json":   `{"id": "p"}`,
		"mcp/notes.yaml": "id: notes\nurl: " + at.URL + "/\nneeds: [\"net:" + at.Listener.Addr().String() + "\"]\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ flag, written, state string }{
		{"--dry-run", "false", "new"}, {"--json", "true", "new"}, {"--json", "true", "same"},
	} {
		var out, errs, got bytes.Buffer
		code := execute(context.Background(), []string{"mcp", "pin", dir, "notes", "--json", c.flag}, strings.NewReader(""), &out, &errs)
		want := `{"server":"notes","file":"mcp/notes.pin.json","written":` + c.written + `,"tools":[{"tool":"mcp:notes/add","state":"` + c.state + `"}]}`
		if err := json.Compact(&got, out.Bytes()); err != nil || code != cli.ExitOK || got.String() != want {
			t.Errorf("exit code %d: %s%s; want %s", code, got.String(), errs.String(), want)
		}
	}
}
