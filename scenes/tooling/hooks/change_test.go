package hooks_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling/hooks"
)

// guarded is a project whose policy looks at parameters.
const guarded = `
-- project.json --
{"id": "test", "tool_policy": {"otherwise": "allow", "rules": [
  {"id": "no-evil", "tools": ["look"], "params": {"/q": "evil*"}, "do": "deny"},
  {"id": "no-diary", "tools": ["look"], "params": {"/text": "fam://*/diary*"}, "do": "deny"},
  {"id": "clerks", "tools": ["look"], "profiles": ["clerk"], "params": {"/q": "stamp*"}, "do": "deny"},
  {"id": "ask", "tools": ["look"], "agents": ["asked"], "do": "ask"}]}}
-- tools/look.tool.yaml --
id: look
parameters:
  properties:
    q: {type: string, maxLength: 20}
    n: {type: integer}
    text: {type: string, maxLength: 12, x-uri: text}
    other: {type: string, x-uri: text}
    link: {type: string, x-uri: pass}
    plain: {type: string, maxLength: 12}
implementation: {type: service, name: lab}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [look, command, edit, "CodeInterpreter:execute"]
-- agent_profiles/clerk.yaml --
id: clerk
name: Clerk
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: asked, profile_id: clerk}]
`

// Promise 5. What a hook makes of a call is bound, checked and judged; of references and secrets it keeps
// what the call had, where it had it, or leaves it out.
func TestChange(t *testing.T) {
	files, err := txtar.FS(txtar.Parse([]byte(guarded)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	const letter, secret = "fam://agent/letter-to-ada.txt", `echo $KARYI{KEY}`
	for _, c := range []struct{ name, tool, was, uris, by, made, want string }{
		{"parameters", "look", `{"q": "a"}`, "", "", `{"q": "b"}`, "map[q:b] map[]"},
		{"they are bound", "look", `{}`, "", "", `{"N": "5", "q": null}`, "map[n:5] map[]"},
		{"they are checked", "look", `{}`, "", "", `{"q": 1.5, "n": "x"}`, "made wrong parameters: /n"},
		{"no object", "look", `{}`, "", "", `[1]`, "parameters that are no object"},
		{"an unknown one", "look", `{}`, "", "", `{"uri_plain": "fam://agent/x"}`, "made wrong parameters: /uri_plain"},

		{"the policy judges", "look", `{}`, "", "", `{"q": "evil deeds"}`, "the policy does not allow (no-evil)"},
		{"and the profile counts", "look", `{}`, "", "clerk a", `{"q": "stamp it"}`, "the policy does not allow (clerks)"},
		{"only that one", "look", `{}`, "", "a a", `{"q": "stamp it"}`, "map[q:stamp it] map[]"},
		{"who was allowed to call was asked about another call", "look", `{}`, "", "clerk asked", `{"q": "x"}`, "the policy does not allow (ask)"},

		{"a reference stays", "look", `{"text": "LETTER", "q": "a"}`, "text", "", `{"text": "LETTER", "q": "b"}`, "map[q:b text:LETTER] map[text:LETTER]"},
		{"one without x-uri", "look", `{"plain": "LETTER"}`, "plain", "", `{"plain": "LETTER", "q": "b"}`, "map[plain:LETTER q:b] map[plain:LETTER]"},
		{"one is left out", "look", `{"text": "LETTER"}`, "text", "", `{"q": "b"}`, "map[q:b] map[]"},
		{"one becomes a text", "look", `{"text": "LETTER"}`, "text", "", `{"text": "hello"}`, "map[text:hello] map[]"},
		{"its text is checked", "look", `{"text": "LETTER"}`, "text", "", `{"text": "hello hello hello"}`, "made wrong parameters: /text: maxLength"},
		{"a text for one without x-uri is a text", "look", `{"plain": "LETTER"}`, "plain", "", `{"plain": "fam://a/b"}`, "map[plain:fam://a/b] map[]"},
		{"one is written", "look", `{"q": "a"}`, "", "", `{"text": "LETTER"}`, "a reference of its own (parameter text)"},
		{"also as a path", "look", `{"q": "a"}`, "", "", `{"text": "/etc/passwd"}`, "a reference of its own (parameter text)"},
		{"another one", "look", `{"text": "LETTER"}`, "text", "", `{"text": "fam://agent/b"}`, "a reference of its own (parameter text)"},
		{"one goes elsewhere", "look", `{"text": "LETTER"}`, "text", "", `{"other": "LETTER"}`, "a reference of its own (parameter other)"},
		{"what is passed", "look", `{"link": "LETTER"}`, "link", "", `{"link": "artifact:x"}`, "a reference of its own (parameter link)"},
		{"the policy judges what stays", "look", `{"text": "fam://agent/diary"}`, "text", "", `{"text": "fam://agent/diary", "q": "b"}`, "the policy does not allow (no-diary)"},

		{"inputs of code stay", "CodeInterpreter:execute", `{"language": "sh", "code": "a", "inputs": {"f": "LETTER"}}`, "", "", `{"language": "sh", "code": "b", "inputs": {"f": "LETTER"}}`, "map[code:b inputs:map[f:LETTER] language:sh] map[]"},
		{"others", "CodeInterpreter:execute", `{"language": "sh", "code": "a", "inputs": {"f": "LETTER"}}`, "", "", `{"language": "sh", "code": "a", "inputs": {"g": "LETTER"}}`, "a reference of its own (parameter inputs, g)"},

		{"a command", "command", `{"content": "ls"}`, "", "", `{"content": "ls -l"}`, "map[content:ls -l] map[]"},
		{"without its secret", "command", `{"content": "SECRET"}`, "", "", `{"content": "ls"}`, "map[content:ls] map[]"},
		{"with the same", "command", `{"content": "SECRET"}`, "", "", `{"content": "SECRET"}`, "map[content:SECRET] map[]"},
		{"with one in another place", "command", `{"content": "SECRET"}`, "", "", `{"content": "SECRET | nc"}`, "other parameters around a secret"},
		{"with one that nobody wanted", "command", `{"content": "ls"}`, "", "", `{"content": "SECRET"}`, "other parameters around a secret"},
		{"a file stays", "edit", `{"files": [{"src": "a", "edits": []}, {"src": "b", "edits": []}]}`, "", "", `{"files": [{"src": "b", "edits": [{"find": "x", "replace": "y"}]}]}`, "map[files:[map[edits:[map[find:x replace:y]] src:b]]] map[]"},
		{"another file", "edit", `{"files": [{"src": "a", "edits": []}]}`, "", "", `{"files": [{"src": "LETTER", "edits": [{"find": "x", "replace": "y"}]}]}`, "a reference of its own (parameter files, LETTER)"},
		{"no list of files", "edit", `{"files": [{"src": "a", "edits": []}]}`, "", "", `{"files": [3], "src": 7}`, "made wrong parameters"},
		{"in a file", "edit", `{"files": [{"src": "a", "edits": []}]}`, "", "", `{"files": [{"src": "a", "edits": [{"find": "", "replace": "SECRET"}]}]}`, "other parameters around a secret"},
		{"where none is put in it is a text", "look", `{}`, "", "", `{"q": "SECRET"}`, "map[q:SECRET] map[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			words := strings.NewReplacer("LETTER", letter, "SECRET", secret)
			was := &protocol.Call{ID: "c", Tool: c.tool, Params: map[string]any{}}
			if err := json.Unmarshal([]byte(words.Replace(c.was)), &was.Params); err != nil {
				t.Fatal(err)
			}
			if c.uris != "" {
				was.URIs = map[string]string{c.uris: was.Params[c.uris].(string)} //nolint:forcetypeassert // of the table
			}
			profile, agent, _ := strings.Cut(c.by, " ")
			tool, ok := p.Tool(c.tool)
			if !ok {
				t.Fatal("no tool")
			}
			var made any
			if err := json.Unmarshal([]byte(words.Replace(c.made)), &made); err != nil {
				t.Fatal(err)
			}
			h := &hooks.Hook{Plugin: "guard"}
			is, err := h.Change(tool, was, hooks.Caller{Agent: agent, Profile: profile}, p.Policy(), made)
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(is.Params, is.URIs)
			} else if protocol.KindOf(err) != protocol.KindDenied {
				t.Error(err)
			}
			if want := words.Replace(c.want); got != want && (err == nil || !strings.Contains(got, want)) {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}
