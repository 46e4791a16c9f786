package project

import (
	"strings"
	"testing"
	"testing/fstest"
)

// A rule about a parameter that its tools lack fits nothing: the project is warned.
func TestPolicyPointers(t *testing.T) {
	files := fstest.MapFS{
		"scenes/s.yaml": {Data: []byte("id: s\nname: S\nagent_instances: []\nsimulation: {stop: {ticks: 1}}\n")},
		"tools/a.tool.yaml": {Data: []byte(`
id: a
parameters: {properties: {to: {type: string}, list: {type: array, items: {type: object, properties: {x: {type: string}}, additionalProperties: false}}, free: {type: object}, n: {type: integer}}}
implementation: {type: service, name: a}
`)},
		"tools/b.tool.yaml": {Data: []byte("id: b\nparameters: {properties: {other: {}}}\nimplementation: {type: service, name: b}\n")},
	}
	for pointer, want := range map[string]string{
		"/to": "", "/tp": "perhaps|to", "/list/x": "", "/list/0/x": "", "/list/y": "no parameter", "/list/0/y": "no parameter", "/free/any": "", "/n": "", "/n/x": "no parameter", "/other": "", "/other/x": "",
	} {
		for tools, names := range map[string]string{`"*"`: "a, b", `a`: "a"} {
			want := want
			if tools == "a" && strings.HasPrefix(pointer, "/other") {
				want = "no parameter"
			}
			files["project.json"] = &fstest.MapFile{Data: []byte(`{"id": "p", "tool_policy": {"rules": [{"id": "r", "tools": [` + strings.ReplaceAll(`"`+strings.Trim(tools, `"`)+`"`, "\n", "") + `], "params": {"` + pointer + `": "x"}, "do": "deny"}]}}`)}
			p, err := Load(files, Options{Tools: []string{}})
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, w := range p.Warnings {
				all = append(all, w.String())
			}
			text := strings.Join(all, "\n")
			if (want == "") != (text == "") || want != "" && !strings.Contains(text, "no parameter of "+names+" is at") {
				t.Errorf("%s of %s: %s", pointer, tools, text)
			}
		}
	}
}
