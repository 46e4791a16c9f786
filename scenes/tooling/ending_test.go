package tooling_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

// ending has two services and two MCP servers, which tell a server that they are asked to end. The deaf ones do not, until
// they are killed.
const ending = `
-- project.json --
{"id": "test"}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {seed: 1, stop: {ticks: 2}, limits: {shutdown_grace: 6s}}
-- services/service.yaml --
id: service
command: python3 ./program.py service MARK
needs: ["net:127.0.0.1:PORT"]
-- services/deaf_service.yaml --
id: deaf_service
command: python3 ./program.py deaf_service MARK
needs: ["net:127.0.0.1:PORT"]
-- tools/s.tool.yaml --
id: s
implementation: {type: service, name: service, method: m}
-- tools/d.tool.yaml --
id: d
implementation: {type: service, name: deaf_service, method: m}
-- mcp/server.yaml --
id: server
command: python3 ./program.py server MARK
needs: ["net:127.0.0.1:PORT"]
-- mcp/deaf_server.yaml --
id: deaf_server
command: python3 ./program.py deaf_server MARK
needs: ["net:127.0.0.1:PORT"]
`

const pinned = `{"server": "NAME", "tools": [{"name": "t", "inputSchema": {"type": "object"}}]}`

const endingProgram = `
import json, signal, sys, time, urllib.request
name = sys.argv[1]
def tell(what):
    urllib.request.urlopen("http://127.0.0.1:PORT/" + name + "/" + what)
def asked(q):
    if q["method"] == "initialize" and "protocolVersion" in q["params"]:
        return {"protocolVersion": q["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    if q["method"] == "tools/list":
        return {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
    if q["method"] == "tools/call":
        return {"content": []}
    return {"initialize": {"protocol": 1}, "tool/call": {"output": 1}}.get(q["method"], {})
def end():
    tell("asked")
    while name.startswith("deaf"):
        time.sleep(60)
    tell("ends")
if name.startswith("deaf"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    q = json.loads(line)
    if q["method"] == "shutdown":
        break
    if "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": asked(q)}), flush=True)
end()
`

// Services and MCP servers end in the reverse order of their start. Two that have to be killed
// take nothing from the time of those that were started before.
func TestProgramsEndInReverse(t *testing.T) {
	box := withNet(t)
	var mu sync.Mutex
	var told []string
	hears := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, q.URL.Path)
	}))
	defer hears.Close()
	const mark = "ends_in_reverse"
	text := ending
	for _, dir := range []string{"services", "mcp"} {
		text += "-- " + dir + "/program.py --" + endingProgram
	}
	for _, server := range []string{"server", "deaf_server"} {
		text += "-- mcp/" + server + ".pin.json --\n" + strings.ReplaceAll(pinned, "NAME", server) + "\n"
	}
	text = strings.NewReplacer("PORT", hears.URL[strings.LastIndexByte(hears.URL, ':')+1:], "MARK", mark).Replace(text)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.New(tooling.Options{Project: p, Scene: "s", Run: "r", Sandbox: box, Grants: every(p)})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"s", "mcp:server/t", "mcp:deaf_server/t", "d"} { // it starts with its first call
		tool, _ := p.Tool(id)
		if r := set.Try(t.Context(), tool, map[string]any{}, 0); r.Status != tools.OK {
			t.Errorf("%s: %+v %+v", id, r, r.Error)
		}
	}
	if list := running(t, mark); len(list) < 4 {
		t.Errorf("there are %q", list)
	}
	begun := time.Now()
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	took := time.Since(begun)
	mu.Lock()
	defer mu.Unlock()
	want := []string{"/deaf_service/asked", "/deaf_server/asked", "/server/asked", "/server/ends", "/service/asked", "/service/ends"}
	if !slices.Equal(told, want) || took > 8*time.Second {
		t.Errorf("after %s: %v, want %v", took, told, want)
	}
	if list := running(t, mark); len(list) > 0 {
		t.Errorf("left behind: %q", list)
	}
}

// running are the processes of this machine that have a word in their arguments.
func running(t *testing.T, word string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if text, _ := os.ReadFile(name); strings.Contains(string(text), word) { // it may have ended
			list = append(list, string(text))
		}
	}
	return list
}
