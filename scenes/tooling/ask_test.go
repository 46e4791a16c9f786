package tooling_test

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/forms"
	"tavernsim/tools/approvals"
)

// hosts call a tool of an MCP server that asks how many guests there are before it answers.
const hosts = `
-- project.json --
{"id": "test", "model": "models/m.yaml"}
-- models/m.yaml --
otherwise: {calls: [{tool: "mcp:table/book"}]}
-- mcp/table.yaml --
id: table
command: python3 ./table.py
-- mcp/table.pin.json --
{"server": "table", "tools": [{"name": "book", "inputSchema": {"type": "object"}}]}
-- mcp/table.py --
import json, sys
def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit()
def say(m):
    print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
can = {}
while True:
    q = read()
    if q.get("method") == "initialize":
        can = q["params"]["capabilities"]
        say({"id": q["id"], "result": {"protocolVersion": q["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}})
    elif q.get("method") == "tools/list":
        say({"id": q["id"], "result": {"tools": [{"name": "book", "inputSchema": {"type": "object"}}]}})
    elif q.get("method") == "tools/call":
        say({"id": "ask", "method": "elicitation/create", "params": {"message": "How many guests?", "requestedSchema": {"type": "object", "properties": {"guests": {"type": "integer", "maximum": 8}}, "required": ["guests"]}}})
        a = read()["result"]
        if a["action"] == "accept":
            say({"id": q["id"], "result": {"content": [{"type": "text", "text": "a table for %d, %s" % (a["content"]["guests"], can)}]}})
        else:
            say({"id": q["id"], "result": {"isError": True, "content": [{"type": "text", "text": "no table: " + a["action"]}]}})
    elif "id" in q:
        say({"id": q["id"], "error": {"code": -32601, "message": "no such method"}})
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: ["mcp:table/book"]
-- tools/book.tool.yaml --
id: book
implementation: {type: mcp, server: table, tool: book}
execution: {timeout: 60s}
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {seed: 1, stop: {ticks: 1}}
`

// A person answers what an MCP server wants to know, by the door; question and answer are kept
// with the call, so that its history is decided again without anybody. Where nobody is there the
// server hears no, and the agent why.
func TestAServerAsksAPerson(t *testing.T) {
	box := withPython(t)
	text := strings.NewReplacer(`[{tool: "mcp:table/book"}]`, "[{tool: book}]", `["mcp:table/book"]`, "[book]").Replace(hosts)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "approvals")
	for _, c := range []struct {
		answer map[string]any // nil = nobody is there
		output string
		kept   []string
	}{
		{map[string]any{"guests": 4.0}, "a table for 4, {'elicitation': {'form': {}}}", []string{`"result": "given"`, `"guests": 4`, `"by": "person"`, "How many guests?"}},
		{nil, "no table: decline; it asked, and had no answer: nobody answers in this run", []string{`"result": "declined"`, `"by": "never"`}},
	} {
		s := scenestest.New(t, p, "")
		set := scenestest.Settings{Tools: tooling.Live, Sandbox: box}
		if c.answer != nil {
			set.Leave = tooling.Leave{Door: &approvals.Door{Dir: dir}, Run: "r"}
			go answerForm(t, dir, c.answer)
		}
		if r := s.Run(t, set); r.Err != nil || !r.Final {
			t.Fatal(r)
		}
		said, kept := "", ""
		for _, f := range agentFacts(t, s) {
			if x, ok := f.(*agentfact.CallAnswered); ok {
				v, _ := x.Output.Value()
				said += fmt.Sprint(v, x.Error)
				for _, a := range x.Artifacts {
					if a.Name != forms.File {
						t.Errorf("%+v", a)
					}
					file, err := artifacts.Of(s.Dir).Open(a.ID)
					if err != nil {
						t.Fatal(err)
					}
					b, _ := io.ReadAll(file)
					kept += string(b)
					_ = file.Close()
				}
			}
		}
		if !strings.Contains(said, c.output) {
			t.Errorf("the call gave %s, want %s", said, c.output)
		}
		for _, want := range c.kept {
			if !strings.Contains(kept, want) {
				t.Errorf("kept is %s, want %s", kept, want)
			}
		}
		mustVerify(t, s, scenestest.Settings{Tools: tooling.Off})
	}
}

// answerForm answers the first question of a folder, with an answer that fits, and one before
// that does not.
func answerForm(t *testing.T, dir string, answer map[string]any) {
	for t.Context().Err() == nil {
		list, err := approvals.List(dir)
		if err != nil {
			t.Error(err)
			return
		}
		if len(list) == 0 {
			<-time.After(5 * time.Millisecond) // another goroutine asks
			continue
		}
		q := list[0]
		if err := approvals.Answer(dir, q.ID, approvals.Verdict{Yes: true, Answer: map[string]any{"guests": 9.0}}); err == nil || !strings.Contains(err.Error(), "maximum") {
			t.Errorf("nine guests: %v", err)
		}
		if err := approvals.Answer(dir, q.ID, approvals.Verdict{Yes: true, Answer: answer}); err != nil {
			t.Error(err)
		}
		return
	}
}
