package served

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

// Promise 4: what is listed is what 'simd tool schema --as mcp' prints, with examples, under a
// name that no other tool has, and with the schema of outputs if clients can use it.
func TestListed(t *testing.T) {
	dir := t.TempDir()
	rest := "\nimplementation: {type: http, url: \"http://127.0.0.1:9/\"}\n"
	for name, text := range map[string]string{
		"project.json":          `{"id": "p"}`,
		"scenes/s.yaml":         "id: s\nname: S\nschema_version: \"1.0\"\nagent_instances: []\n",
		"tools/a.tool.yaml":     "id: a.b\ndescription: Adds.\nparameters: {properties: {n: {type: integer}}}\nexamples: [{n: 3}]\noutputSchema: {type: object, required: [sum]}" + rest,
		"tools/list.tool.yaml":  "id: list\noutputSchema: {type: array}" + rest,
		"tools/other.tool.yaml": "id: other\noutputSchema: {type: object, properties: {x: {$ref: x.json}}}" + rest,
		"tools/x.json":          `{"type": "integer"}`,
		"tools/own.tool.yaml":   "id: own\noutputSchema: {type: object, properties: {x: {$ref: \"#/$defs/x\"}}, $defs: {x: {type: integer}}}" + rest,
		"tools/run.tool.yaml":   "id: simd.run" + rest,
		"tools/mock.yaml":       "otherwise: {output: {sum: 2}}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := runner.Load(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.New(tooling.Options{Project: p, Mode: tooling.Mock, Run: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	list, err := New(Options{Project: p, Tools: set}).projectTools()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"a_b_2e7336": true, "list": false, "other": false, "own": true, "simd_run_401755": false}
	if len(list) != len(want) {
		t.Errorf("%d tools", len(list))
	}
	for i, id := range p.ToolIDs() {
		x := &list[i]
		promised, known := want[x.Name]
		if !known || promised != (x.Output != nil) {
			t.Errorf("%s: outputs %v", x.Name, x.Output)
		}
		if own, _ := p.Tool(id); asJSON(t, Shown(p, own)) != asJSON(t, x.Listed()) {
			t.Errorf("%s is shown as %s, and listed as %s", id, asJSON(t, Shown(p, own)), asJSON(t, x.Listed()))
		}
	}
	if list[0].Description != "Adds.\nExample: {\"n\":3}" || list[0].Check(map[string]any{}) == nil {
		t.Errorf("%+v", list[0])
	}
}

// A tool of the project would stand in the place of a command that has its name: it is refused.
func TestNoToolHasTheNameOfACommand(t *testing.T) {
	p, err := runner.LoadFS(fstest.MapFS{
		"project.json":        {Data: []byte(`{"id": "p"}`)},
		"scenes/s.yaml":       {Data: []byte("id: s\nname: S\nschema_version: \"1.0\"\nagent_instances: []\n")},
		"tools/run.tool.yaml": {Data: []byte("id: simd_run\nimplementation: {type: http, url: \"http://127.0.0.1:9/\"}\n")},
	}, "p", true)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.New(tooling.Options{Project: p, Mode: tooling.Off, Run: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if _, err := New(Options{Project: p, Tools: set}).Offer(); protocol.KindOf(err) != protocol.KindInvalid || !strings.Contains(err.Error(), "the tool simd_run has the name of a tool of simd") {
		t.Error(err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Promise 4: what commands answer is what their schemas say.
func TestCommandsKeepTheirPromises(t *testing.T) {
	d, _ := commands(t, `{"project": "p", "sound": false, "faults": [{"file": "f"}], "total": 1, "warnings": []}`, 3)
	ended := filepath.Join(d.opt.Runs, "r1")
	if err := os.MkdirAll(filepath.Join(ended, rundir.JournalDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"manifest.json", summaryFile} {
		if err := os.WriteFile(filepath.Join(ended, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	begun := tool(t, d, "simd_run")(nil)
	going, _ := begun.Output.(map[string]any)["run"].(string)
	for _, x := range []struct {
		tool string
		r    tools.Result
	}{
		{"simd_validate", tool(t, d, "simd_validate")(nil)},
		{"simd_run", begun},
		{"simd_run_status", tool(t, d, "simd_run_status")(map[string]any{"run": "r1"})},
		{"simd_run_status", tool(t, d, "simd_run_status")(map[string]any{"run": going})},
		{"simd_run_stop", tool(t, d, "simd_run_stop")(map[string]any{"run": going})},
	} {
		if x.r.Error != nil {
			t.Errorf("%s: %s", x.tool, x.r.Error.Message)
		} else if err := fits(t, d, x.tool, x.r.Output); err != nil {
			t.Errorf("%s: %v", x.tool, err)
		}
	}
}

// fits says what is wrong with an output by the schema of a command.
func fits(t *testing.T, d *Desk, name string, output any) error {
	t.Helper()
	for _, x := range d.commands() {
		if x.Name == name {
			c := jsonschema.NewCompiler()
			if err := c.AddResource("o.json", decoded(t, x.Output)); err != nil {
				t.Fatal(err)
			}
			return c.MustCompile("o.json").Validate(decoded(t, output))
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func decoded(t *testing.T, v any) any {
	t.Helper()
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(asJSON(t, v))))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
