package tooling_test

import (
	"maps"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools/grants"
)

// every grants all that a project asks for.
func every(p *project.Project) *grants.Store {
	s := &grants.Store{}
	for _, a := range needs.Of(p, needs.Place{}) {
		s.Give(&a)
	}
	return s
}

// Promise 4: without a grant nothing leaves, also if the project says by itself what it
// needs; a tool whose file has changed since is denied alone.
func TestGrants(t *testing.T) {
	server, port := count(t, &counting{})
	s := scene(t, port)
	none := scenestest.Settings{Tools: tooling.Live, Grants: &grants.Store{}}
	r := s.Run(t, none)
	if r.Err != nil || !r.Final || len(server.requests) != 0 {
		t.Fatalf("%+v, %v", r, server.requests)
	}
	if n := r.State.Tally.Refusals["call denied"]; n != turns {
		t.Errorf("%d calls", n)
	}
	if list := needs.Refused(s.Project, needs.Place{}, none.Grants); len(list) != 3 {
		t.Error(list)
	}
	if has := needs.Granted(s.Project, needs.Place{}, every(s.Project)); len(has) != 3 || !slices.Equal(has["srv.pay"], []string{"net:127.0.0.1:" + port}) {
		t.Error(has)
	}
	before := every(s.Project)
	changed := scene(t, port, "id: srv.fire\n", "id: srv.fire\ndescription: Another.\n")
	if r := changed.Run(t, scenestest.Settings{Tools: tooling.Live, Grants: before}); r.Err != nil {
		t.Fatal(r)
	}
	if len(server.of("/fire")) != 0 || len(server.of("/pay")) != turns {
		t.Errorf("%d and %d requests", len(server.of("/fire")), len(server.of("/pay")))
	}
	if r := s.Fresh(t).Run(t, scenestest.Settings{Tools: tooling.Mock, Grants: &grants.Store{}}); r.Err != nil {
		t.Error(r)
	}
}

// What counts as the files of a tool: the definition, what goes with a script, and of an
// MCP server its file and its pin.
func TestAsked(t *testing.T) {
	files := scenestest.Files(txtar.Parse([]byte(`
-- project.json --
{"id": "test"}
-- scenes/s.yaml --
id: s
name: S
agent_instances: []
-- tools/a/a.tool.yaml --
id: a
implementation: {type: script, command: ./run.sh, files: [lib]}
needs: ["secret:k", "secret:j"]
-- tools/a/run.sh --
-- tools/a/lib/x.txt --
-- tools/a/other.txt --
-- tools/b.tool.yaml --
id: b
implementation: {type: http, url: "https://B.Example.org./x"}
-- tools/c.tool.yaml --
id: c
implementation: {type: script, command: "true"}
-- tools/d.tool.yaml --
id: d
implementation: {type: mcp, server: m, tool: t}
-- mcp/m.yaml --
id: m
url: http://m.example.org/mcp
-- mcp/m.pin.json --
{"server": "m", "tools": [{"name": "t"}]}
-- mcp/n.yaml --
id: n
command: ./server.sh
needs: ["net:N.example.org:443"]
-- mcp/server.sh --
-- services/r.yaml --
id: r
command: ./r.sh
needs: ["net:R.example.org:443"]
-- services/r.sh --
-- tools/e.tool.yaml --
id: e
implementation: {type: service, name: r}
-- tools/f.tool.yaml --
id: f
implementation: {type: script, command: "true"}
needs: ["net:F.example.org:443", "net:[0:0::1]:80"]
-- mcp/n.pin.json --
{"server": "n", "tools": [{"name": "t"}]}
`)))
	p, err := scenestest.Load(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2][]string{
		"a":       {{"secret:j", "secret:k"}, {"tools/a/a.tool.yaml", "tools/a/lib/x.txt", "tools/a/run.sh"}},
		"b":       {{"net:b.example.org:443"}, {"tools/b.tool.yaml"}},
		"d":       {{"net:m.example.org:80"}, {"mcp/m.pin.json", "mcp/m.yaml", "tools/d.tool.yaml"}},
		"e":       {{"net:r.example.org:443"}, {"services/r.sh", "services/r.yaml", "tools/e.tool.yaml"}},
		"f":       {{"net:[::1]:80", "net:f.example.org:443"}, {"tools/f.tool.yaml"}},
		"mcp:m/t": {{"net:m.example.org:80"}, {"mcp/m.pin.json", "mcp/m.yaml"}},
		"mcp:n/t": {{"net:n.example.org:443"}, {"mcp/n.pin.json", "mcp/n.yaml", "mcp/server.sh"}},
	}
	for _, a := range needs.Of(p, needs.Place{Folder: "/x", Origin: "/y"}) {
		w := want[a.Tool]
		if got := slices.Sorted(maps.Keys(a.Files)); !slices.Equal(a.Needs, w[0]) || !slices.Equal(got, w[1]) || a.Folder != "/x" || a.Origin != "/y" {
			t.Errorf("%+v", a)
		}
		for name, hash := range a.Files {
			if len(hash) != 64 {
				t.Errorf("%s has the hash %q", name, hash)
			}
		}
		delete(want, a.Tool)
	}
	if len(want) > 0 {
		t.Errorf("nobody asks for %v", want)
	}
}
