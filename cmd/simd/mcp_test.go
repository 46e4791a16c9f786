package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
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
	for _, args := range [][]string{{"--http", "0.0.0.0:0"}, {"--token-file", "x"}, {"--http", "nowhere"}, {"--metrics", "nowhere"}, {"--tools", "some"}} {
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

// --metrics counts what clients ask, and the calls of tools.
func TestMCPServeMetrics(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Setenv("SIMD_AUDIT", "off")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // nothing is granted
	in, to := io.Pipe()
	from, out := io.Pipe()
	told, errs := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- execute(context.Background(), []string{"mcp", "serve", "../../scenes/examples/harbour", "--runs", t.TempDir(), "--metrics", "127.0.0.1:0"}, in, out, errs)
		out.Close()
		errs.Close()
	}()
	lines := bufio.NewReader(told)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	at, ok := strings.CutPrefix(strings.TrimSpace(line), "metrics at ")
	if !ok {
		t.Fatal(line)
	}
	rest := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(lines)
		rest <- string(b)
	}()
	answers := json.NewDecoder(from)
	for _, ask := range []string{
		`"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}`,
		`"id": 1, "method": "tools/call", "params": {"name": "weather_wind_b844b5", "arguments": {"latitude": 43.3, "longitude": 5.4}}`,
		`"id": 2, "method": "tools/call", "params": {"name": "simd_validate", "arguments": {}}`,
		`"id": 3, "method": "resources/read", "params": {"uri": "simd://runs/none/summary"}`,
	} {
		if _, err := io.WriteString(to, `{"jsonrpc": "2.0", `+ask+"}\n"); err != nil {
			t.Fatal(err)
		}
		if err := answers.Decode(&struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := http.Get(at) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r.Body)
	r.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	for _, want := range []string{
		`simd_mcp_requests_total{method="initialize",outcome="ok",role="server"} 1`,
		`simd_mcp_requests_total{method="tools/call",outcome="ok",role="server"} 1`,
		`simd_mcp_requests_total{method="tools/call",outcome="error",role="server"} 1`,
		`simd_mcp_requests_total{method="resources/read",outcome="error",role="server"} 1`,
		`simd_mcp_requests_total{method="tools/list",outcome="ok",role="server"} 0`,
		`simd_tool_denied_total{reason="grant"} 1`, "simd_ready 1",
	} {
		if err != nil || !strings.Contains(string(b), want+"\n") {
			t.Errorf("%v: no %s", err, want)
		}
	}
	to.Close()
	if got, said := <-code, <-rest; got != cli.ExitOK || said != "MCP over stdin and stdout, 6 tools\n" {
		t.Errorf("exit code %d: %s", got, said)
	}
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
	server := serve.New(serve.Offer{Name: "notes", Version: "1", Tools: []serve.Tool{{Name: "add", Parameters: map[string]any{"type": "object"}}, {Name: "far", Parameters: map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"$ref": "https://example.com/x"}}}}}})
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
		want := `{"server":"notes","file":"mcp/notes.pin.json","written":` + c.written + `,"tools":[{"tool":"mcp:notes/add","state":"` + c.state + `"},{"tool":"mcp:notes/far","state":"unusable","reason":"schema:1:1: the schema does not compile: failing loading \"https://example.com/x\": a schema may refer to files of the project only"}]}`
		if err := json.Compact(&got, out.Bytes()); err != nil || code != cli.ExitOK || got.String() != want {
			t.Errorf("exit code %d: %s%s; want %s", code, got.String(), errs.String(), want)
		}
	}
	pin := filepath.Join(dir, "mcp/notes.pin.json")
	text, err := os.ReadFile(pin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pin, bytes.Replace(text, []byte(`"type": "object"`), []byte(`"type": "object", "maxProperties": 3`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	code := execute(context.Background(), []string{"mcp", "pin", dir, "notes", "--dry-run"}, strings.NewReader(""), &out, &errs)
	if want := "changed  mcp:notes/add: inputSchema.maxProperties was 3, is not there\n"; code != cli.ExitOK || !strings.HasPrefix(out.String(), want) {
		t.Errorf("exit code %d: %s%s; want %s", code, out.String(), errs.String(), want)
	}
}

// What a server says about its tools may spell the secret that it gets, and tools may be ones with which no project
// loads: neither is pinned, and nothing shows the value.
func TestMCPPinLeavesOut(t *testing.T) {
	const value = "sk-Demo_7pW4yH8cR2nM"
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	object := map[string]any{"type": "object"}
	list := []map[string]any{
		{"name": "add", "inputSchema": object},
		{"name": "says", "description": "The key is " + value, "inputSchema": object},
		{"name": "says64", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"type": "string", "default": encoded}}}},
		{"name": value, "inputSchema": object},
		{"name": "x y", "inputSchema": object},
		{"name": "rows", "inputSchema": map[string]any{"type": "array"}},
		{"name": "twin", "inputSchema": object}, {"name": "twin", "inputSchema": object},
		{"name": "get-it", "inputSchema": object}, {"name": "getIt", "inputSchema": object},
	}
	failing := false
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		if err := json.NewDecoder(q.Body).Decode(&m); err != nil || m.ID == nil || q.Header.Get("Authorization") != value {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		switch {
		case m.Method == "initialize":
			answer["result"] = map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "n", "version": "1"}}
		case m.Method == "tools/list" && !failing:
			answer["result"] = map[string]any{"tools": list}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "not for " + value}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer at.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"p/project.json":   `{"id": "p"}`,
		"p/mcp/notes.yaml": "id: notes\nurl: " + at.URL + "/\nneeds: [\"net:" + at.Listener.Addr().String() + "\", \"secret:deploy\"]\nheaders: {Authorization: \"$KARYI{deploy}\"}\n",
		"secrets.yaml":     "secrets: {deploy: {value: " + value + ", tools: [\"*\"]}}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (int, string) {
		var out, errs strings.Builder
		code := execute(context.Background(), args, strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	pin := []string{"mcp", "pin", filepath.Join(dir, "p"), "notes", "--secrets", filepath.Join(dir, "secrets.yaml")}
	code, said := run(pin...)
	text, err := os.ReadFile(filepath.Join(dir, "p/mcp/notes.pin.json"))
	if err != nil || code != cli.ExitOK {
		t.Fatal(code, said, err)
	}
	failing = true
	_, failed := run(pin...)
	for _, x := range []string{string(text), said, failed} {
		if strings.Contains(x, value) || strings.Contains(x, encoded) {
			t.Errorf("it has the secret: %s", x)
		}
	}
	if !strings.Contains(failed, "not for $KARYI{deploy}") {
		t.Error(failed)
	}
	for _, want := range []string{
		"new      mcp:notes/add\n", "unusable mcp:notes/says: it says the secret deploy\n", "unusable mcp:notes/says64: it says the secret deploy\n", "unusable mcp:notes/$KARYI{deploy}: it says the secret deploy\n",
		"unusable mcp:notes/x y: ", "unusable mcp:notes/rows: parameters are an object", "unusable mcp:notes/twin: another tool", "unusable mcp:notes/get-it: another tool", "unusable mcp:notes/getIt: another tool",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%s\nhas no %q", said, want)
		}
	}
	if n := strings.Count(string(text), `"name"`); n != 1 {
		t.Errorf("%d tools are pinned: %s", n, text)
	}
	if _, said := run("validate", filepath.Join(dir, "p")); strings.Contains(said, "mcp") { // it has no scene, which is one fault
		t.Error(said)
	}
}
