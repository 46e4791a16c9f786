package tooling_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"golang.org/x/tools/txtar"

	"tavernsim/internal/metrics"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
	"tavernsim/tools/mcp/serve"
)

const broken = `
-- mcp/bad.yaml --
id: bad
command: python3 ./bad.py
-- mcp/bad.pin.json --
{"server": "bad", "tools": [{"name": "say", "inputSchema": {"type": "object"}}]}
-- mcp/bad.py --
import sys
sys.stdin.readline()
print("this is no message", flush=True)
sys.stdin.read()
`

// A server that does not start again is counted, and a person is told which and what to do.
func TestWhoIsOffIsTold(t *testing.T) {
	box := withPython(t)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(minimal+broken))), nil)
	if err != nil {
		t.Fatal(err)
	}
	told, counts := make(chan string, 10), metrics.New()
	set, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: box, Warn: func(text string) { told <- text }, Watch: &tooling.Watch{Counts: counts}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tool, _ := p.Tool("mcp:bad/say")
	if r := set.Try(t.Context(), tool, nil, 0); r.Status != tools.Failed {
		t.Errorf("%+v", r)
	}
	if len(told) != 1 {
		t.Fatalf("told %d times", len(told))
	}
	if text := <-told; !strings.HasPrefix(text, "the service mcp:bad is off, and calls of its tools fail until the run is resumed: ") {
		t.Error(text)
	}
	families, err := counts.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`simd_mcp_requests_total method:server/discover outcome:error role:client 1`, `simd_plugin_restarts_total plugin:mcp:bad 1`} {
		if got := above0(families); !slices.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// A tool of a plugin's server that describes it otherwise than the plugin pinned it is refused with what differs.
func TestAPluginsServerHasChanged(t *testing.T) {
	server := serve.New(serve.Offer{Name: "notes", Version: "1", Tools: []serve.Tool{{Name: "add", Description: "Adds a note to all.", Parameters: map[string]any{"type": "object"}}}})
	at := httptest.NewServer(server.Handler(""))
	defer at.Close()
	defer server.Close()
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(minimal+`
-- project.json --
{"id": "p", "plugins": ["w"]}
-- plugins/w/plugin.yaml --
{name: w, version: 1.0.0}
-- plugins/w/mcp/notes.yaml --
{id: notes, url: "`+at.URL+`/", needs: ["net:`+at.Listener.Addr().String()+`"]}
-- plugins/w/mcp/notes.pin.json --
{"server": "notes", "tools": [{"name": "add", "description": "Adds a note.", "inputSchema": {"type": "object"}}]}
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.New(tooling.Options{Project: p, Run: "r", Grants: grantAll(p)})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tool, ok := p.Tool("mcp:notes/add")
	if !ok {
		t.Fatal(p.ToolIDs(), p.Warnings)
	}
	if r := set.Try(t.Context(), tool, map[string]any{}, 0); r.Error == nil || !strings.HasSuffix(r.Error.Message, `description was "Adds a note.", is "Adds a note to all."`) {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// above0 are the counters above 0.
func above0(families []*dto.MetricFamily) (lines []string) {
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if m.GetCounter().GetValue() == 0 {
				continue
			}
			line := f.GetName()
			for _, l := range m.GetLabel() {
				line += " " + l.GetName() + ":" + l.GetValue()
			}
			lines = append(lines, fmt.Sprint(line, " ", m.GetCounter().GetValue()))
		}
	}
	return lines
}
