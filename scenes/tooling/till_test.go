package tooling_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/persistence"
	"tavernsim/scenes/history"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools"
	"tavernsim/tools/grants"
	"tavernsim/tools/sandbox"
)

// till is a plugin whose service makes a request to a server of each call, with the key of the
// call. PORT is the server's.
const till = `
-- plugins/till/plugin.yaml --
name: till
version: 1.0.0
services: {till: {command: python3 ./till.py, needs: ["net:127.0.0.1:PORT"]}}
-- plugins/till/till.py --
import json, sys, urllib.error, urllib.request
calls = 0
def fetch(address, body=None, key=""):
    try:
        return urllib.request.urlopen(urllib.request.Request(address, data=body, headers={"Idempotency-Key": key})).read().decode()
    except urllib.error.HTTPError as e:
        return "%d %s" % (e.code, e.read().decode())
    except OSError as e:
        return "failed: " + str(e)
def asked(p):
    global calls
    calls += 1
    if p["method"] == "fetch":
        return {"output": fetch(p["params"]["address"])}
    if p["method"] == "count":
        return {"output": {"calls": calls}}
    return {"output": json.loads(fetch("http://127.0.0.1:PORT/" + p["method"], p["params"]["q"].encode(), p["key"]))}
for line in sys.stdin:
    q = json.loads(line)
    result = {"protocol": 1} if q["method"] == "initialize" else asked(q["params"]) if q["method"] == "tool/call" else {}
    if "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": result}), flush=True)
    if q["method"] == "shutdown":
        break
`

// withNet skips where no service in Python can reach a server.
func withNet(t testing.TB) *sandbox.Box {
	t.Helper()
	box := withPython(t)
	r := box.ProbeOf(t.Context(), sandbox.Net)
	if missing := r.Missing(); len(missing) > 0 {
		t.Skipf("no network for programs here: %v", missing)
	}
	return box
}

// reaching has a tool of a service and one of an MCP server, which fetch what they are told to.
const reaching = minimal + `
-- tools/fetch.tool.yaml --
id: fetch
parameters: {properties: {address: {type: string}}, required: [address]}
implementation: {type: service, name: till/till, method: fetch}
-- mcp/web.yaml --
id: web
command: python3 ./web.py
needs: ["net:127.0.0.1:PORT"]
-- mcp/web.pin.json --
{"server": "web", "tools": [{"name": "fetch", "inputSchema": {"type": "object", "properties": {"address": {"type": "string"}}}}]}
-- mcp/web.py --
import json, sys, urllib.error, urllib.request
def fetch(address):
    try:
        return urllib.request.urlopen(address).read().decode()
    except urllib.error.HTTPError as e:
        return "%d %s" % (e.code, e.read().decode())
    except OSError as e:
        return "failed: " + str(e)
def asked(q):
    if q["method"] == "initialize":
        return {"protocolVersion": q["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}}
    if q["method"] == "tools/list":
        return {"tools": [{"name": "fetch", "inputSchema": {"type": "object", "properties": {"address": {"type": "string"}}}}]}
    return {"content": [{"type": "text", "text": fetch(q["params"]["arguments"]["address"])}]}
for line in sys.stdin:
    q = json.loads(line)
    if "id" in q and q["method"] in ("initialize", "tools/list", "tools/call"):
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": asked(q)}), flush=True)
    elif "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "error": {"code": -32601, "message": "no such method"}}), flush=True)
`

// A service of a plugin, and an MCP server, reach the servers that they name and the operator
// granted, through the proxy of simd, and no other. Without the grant they are not called.
func TestServersOfServices(t *testing.T) {
	box := withNet(t)
	var strangers atomic.Int32
	allowed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "reached") }))
	defer allowed.Close()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	defer other.Close()
	port := allowed.URL[strings.LastIndexByte(allowed.URL, ':')+1:]
	text := strings.NewReplacer("PORT", port, `{"id": "test"}`, `{"id": "test", "plugins": ["till"]}`).Replace(reaching + till)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(g *grants.Store, id, address string) tools.Result {
		t.Helper()
		set, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: box, Grants: g})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		tool, ok := p.Tool(id)
		if !ok {
			t.Fatal(id)
		}
		return set.Try(t.Context(), tool, map[string]any{"address": address}, 0)
	}
	at := other.Listener.Addr().String()
	for _, id := range []string{"fetch", "mcp:web/fetch"} {
		for address, want := range map[string]string{
			allowed.URL: "reached", other.URL: "403 simd: the tool may not reach " + at + "; it needs net:" + at + "\n",
			"http://169.254.169.254/latest": "403 simd: the tool may not reach 169.254.169.254:80; it needs net:169.254.169.254:80\n",
		} {
			if r := call(every(p), id, address); r.Status != tools.OK || r.Output != want {
				t.Errorf("%s %s: %+v %+v, want %q", id, address, r, r.Error, want)
			}
		}
		if r := call(&grants.Store{}, id, allowed.URL); r.Status != tools.Denied || !strings.Contains(r.Error.Message, "net:127.0.0.1:"+port) {
			t.Errorf("%s without a grant: %+v %+v", id, r, r.Error)
		}
	}
	if n := strangers.Load(); n > 0 {
		t.Errorf("%d requests at a server that nobody named", n)
	}
	if a := needs.Refused(p, needs.Place{}, every(p)); len(a) > 0 {
		t.Error(a)
	}
}

const counted = minimal + `
-- tools/next.tool.yaml --
id: next
implementation: {type: service, name: till/till, method: count}
execution: {repeat: never}
-- models/m.yaml --
otherwise: {calls: [{tool: next}]}
`

// A fork asks the services for itself from its wave on, and for nothing of what was before; what
// goes on after an interruption, a fold and verify ask for nothing that was answered.
func TestServicesOfAFork(t *testing.T) {
	box := withPython(t)
	text := strings.NewReplacer("PORT", "9", `{"id": "test"}`, `{"id": "test", "model": "models/m.yaml", "plugins": ["till"]}`, "id: a\nname: A\n", "id: a\nname: A\ntool_ids_inventory: [next]\ncustom_runtime_config: {deliberation_frequency_hz: 1}\n", "stop: {ticks: 2}", "stop: {ticks: 6}").Replace(counted + till)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, set := scenestest.New(t, p, ""), scenestest.Settings{Tools: tooling.Live, Sandbox: box}
	first := set
	first.InterruptAt = 3
	if r := s.Run(t, first); r.Err != nil || r.Final {
		t.Fatal(r)
	}
	before := countsOf(t, s)
	if r := s.Run(t, set); r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	whole := countsOf(t, s)
	if len(whole) != 6 || whole != before+oneTo(6-len(before)) {
		t.Errorf("interrupted after %s, the service counted %s", before, whole)
	}
	mustVerify(t, s, scenestest.Settings{Tools: tooling.Off}) // nothing that could start a program
	store, err := persistence.Open(s.Dir, persistence.Options{Traces: history.Traces()})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CutAfter("s", 2); err != nil {
		t.Fatal(err)
	}
	j, err := store.Journal("s")
	if err == nil {
		_, err = history.Fork(s.Made(t, set), j, history.Options{}, &agenda.Forked{Parent: "p", Wave: 2, Seed: 1}, nil)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cut := countsOf(t, s)
	if r := s.Run(t, set); r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	if got := countsOf(t, s); len(cut) == 0 || len(cut) == len(whole) || got != cut+oneTo(6-len(cut)) {
		t.Errorf("cut after %s, the service counted %s", cut, got)
	}
	mustVerify(t, s, scenestest.Settings{Tools: tooling.Off})
}

// countsOf is what the service counted in its calls, a digit for each: it begins at 1 with each
// of its processes.
func countsOf(t *testing.T, s *scenestest.Scene) (counts string) {
	t.Helper()
	for _, f := range agentFacts(t, s) {
		if x, ok := f.(*agentfact.CallAnswered); ok {
			v, _ := x.Output.Value()
			m, _ := v.(map[string]any)
			counts += fmt.Sprint(m["calls"])
		}
	}
	return counts
}

func oneTo(n int) string { return "123456789"[:max(0, n)] }
