package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tavernsim/engine/secret/mask"
	"tavernsim/tools/sandbox"
)

// forms are what the script of testdata/leaks.txtar does with its secret.
func forms() []string {
	return []string{"plain", "base64", "lines", "hex", "rev", "error", "error64", "name", "artifact", "title", "stderr", "od", "file", "gzip", "rot13", "twice"}
}

// A model server makes agents spell a secret in every way, through scripts, a session and a
// request over HTTP. Whatever leaves simd is kept: what the model is asked, the run directory, each
// view, exported table, log line and metric. Nothing but the server that was granted the secret gets
// it, in any spelling.
func TestASecretIsNowhere(t *testing.T) {
	if testing.Short() {
		t.Skip("not in short: scenes/tooling has tests of each part")
	}
	box := sandbox.New(sandbox.Options{})
	defer box.Rest()
	if found := box.Probe(t.Context()); len(found.Missing()) > 0 {
		t.Skip("no sandbox here:", found.Missing())
	}
	const value = "sk-Demo_7pW4yH8cR2nM"
	masker, err := mask.New([]mask.Secret{{Name: "api_key", Value: value}})
	if err != nil {
		t.Fatal(err)
	}
	clean := func(where string, text []byte) {
		if _, found := masker.Text(string(text)); found.Any() {
			t.Errorf("%s has the secret: %+v", where, found)
		}
	}
	l := &leaker{t: t}
	server := httptest.NewServer(l)
	defer server.Close()
	dir := t.TempDir()
	if err := unpack("testdata/leaks.txtar", dir); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	echo, err := os.ReadFile(filepath.Join(dir, "p/tools/echo.tool.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write("p/tools/echo.tool.yaml", strings.ReplaceAll(string(echo), "SERVER", strings.TrimPrefix(server.URL, "http://")))
	for i := range forms() {
		write(fmt.Sprintf("p/tools/leak%d.tool.yaml", i), fmt.Sprintf("id: leak%d\nparameters: {properties: {form: {type: string}}}\nimplementation: {type: script, command: sh ./leak.sh}\nneeds: [\"secret:api_key\"]\n", i))
	}
	given := write("secrets.yaml", "secrets: {api_key: {value: "+value+", tools: [\"leak*\", srv.echo, command, input]}}\n")
	providers := write("providers.yaml", fmt.Sprintf("endpoints: {local: {base_url: %q, free: true}}\n", server.URL+"/v1"))
	grants, run := filepath.Join(dir, "grants.json"), filepath.Join(dir, "run")
	simd := func(args ...string) []byte {
		var out, errw bytes.Buffer
		if code := execute(context.Background(), args, strings.NewReader(""), &out, &errw); code != 0 {
			t.Fatalf("simd %q: exit %d: %s", args, code, errw.Bytes())
		}
		clean(fmt.Sprintf("stderr of simd %q", args), errw.Bytes())
		return out.Bytes()
	}
	simd("tool", "grant", filepath.Join(dir, "p"), "srv.echo", "--grants", grants)
	for i := range forms() {
		simd("tool", "grant", filepath.Join(dir, "p"), fmt.Sprint("leak", i), "--grants", grants)
	}
	r := runMeasured(t, "run", filepath.Join(dir, "p"), "--secrets", given, "--grants", grants, "--providers", providers, "--out", run)
	l.metrics.Store("of", func() string { return r.get(t, "/metrics") })
	<-r.done
	if r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.said())
	}
	clean("the summary", r.out.Bytes())
	clean("the log", []byte(r.said()))
	l.check(clean)

	tables := filepath.Join(dir, "tables")
	simd("export", run, "--what", "facts,events,world,agents,artifacts", "--out", tables)
	said := simd("inspect", run, "audit", "--what", "call", "--limit", "0", "--json")
	for _, what := range []string{"the key is $KARYI{api_key}", "written as words", "written as base64 of gzip", "a file in it has a secret", `\"seen\":\"Bearer $KARYI{api_key}`, "removed, for there was a secret in it"} {
		if !strings.Contains(strings.ReplaceAll(string(said), `"`, `\"`), what) && !strings.Contains(string(said), what) {
			t.Errorf("no call says %q; the scene has not tried it:\n%s", what, said)
		}
	}
	for _, view := range [][]string{{"facts"}, {"events"}, {"agent", "a"}, {"deliberation", "a/1"}, {"deliberation", "a/2"}, {"deliberation", "a/3"}, {"audit"}, {"artifacts"}, {"agents"}, {"world"}} {
		clean("inspect "+strings.Join(view, " "), simd(append([]string{"inspect", run}, append(view, "--json")...)...))
	}
	for _, folder := range []string{run, tables} {
		if err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			clean("the name "+path, []byte(d.Name()))
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			clean(path, data)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// leaker is a server of models that lets agents call tools, and the server of one of these.
type leaker struct {
	t       *testing.T
	metrics sync.Map
	mu      sync.Mutex // guards what follows
	asked   [][]byte
	scraped string
	got     int // requests with the secret
}

func (l *leaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		l.t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/echo" {
		l.got++
		_ = json.NewEncoder(w).Encode(map[string]any{"seen": r.Header.Get("Authorization")})
		return
	}
	for name := range r.Header {
		body = append(body, "\n"+name+": "+r.Header.Get(name)...)
	}
	l.asked = append(l.asked, body)
	if of, ok := l.metrics.Load("of"); ok {
		l.scraped = of.(func() string)()
	}
	var calls []map[string]any
	call := func(name string, params map[string]any) {
		text, _ := json.Marshal(params)
		calls = append(calls, map[string]any{"id": fmt.Sprint("c", len(calls)), "type": "function", "function": map[string]any{"name": name, "arguments": string(text)}})
	}
	if len(l.asked) == 1 {
		for i, form := range forms() {
			call(fmt.Sprint("leak", i), map[string]any{"form": form})
		}
	}
	if len(l.asked) == 2 {
		call(l.nameOf(body, "echo"), map[string]any{})
		call("command", map[string]any{"content": "echo key $KARYI{api_key}; echo $KARYI{api_key} >note; echo $KARYI{api_key} | base64 >b64; ln -s $KARYI{api_key} link; mkdir $KARYI{api_key}; cat note"})
	}
	message := map[string]any{"role": "assistant", "content": "hm", "tool_calls": calls}
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "x", "model": "small", "choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": message}}, "usage": map[string]any{"prompt_tokens": 1, "completion_tokens": 1}})
}

// nameOf is the name by which a request offers a tool.
func (l *leaker) nameOf(body []byte, part string) string {
	var q struct {
		Tools []struct{ Function struct{ Name string } }
	}
	_ = json.NewDecoder(bytes.NewReader(body)).Decode(&q)
	for _, t := range q.Tools {
		if strings.Contains(t.Function.Name, part) {
			return t.Function.Name
		}
	}
	l.t.Errorf("the model is offered no tool %q", part)
	return part
}

func (l *leaker) check(clean func(string, []byte)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, body := range l.asked {
		clean(fmt.Sprint("request ", i, " to the model"), body)
	}
	clean("the metrics", []byte(l.scraped))
	if len(l.asked) < 3 || l.got != 1 || !strings.Contains(l.scraped, "simd_tool_masked_total") {
		l.t.Errorf("%d requests to the model, %d to the tool's server; %d bytes of metrics", len(l.asked), l.got, len(l.scraped))
	}
}
