package project

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"tavernsim/engine/workflow/nodes"
)

// toolFiles are those of the page.
func toolFiles(t testing.TB) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docsDir, "tool.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)<!-- (file|bad): ([^ ]+) -->\n+```[a-z]*\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		files[m[2]] = m[3]
	}
	if len(files) < 4 {
		t.Fatal(len(files))
	}
	return files
}

func loadTool(files map[string]string) (*Project, error) {
	return loadWith(files, Options{Tools: []string{"SayTool"}})
}

func loadWith(files map[string]string, opt Options) (*Project, error) {
	fsys := fstest.MapFS{"scenes/s.yaml": &fstest.MapFile{Data: []byte("id: s\nname: S\nagent_instances: []\nsimulation: {stop: {ticks: 1}}\n")}}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Load(fsys, opt)
}

// What is wrong with the files of a program is said at its own place, and what to do.
func TestFilesOfPrograms(t *testing.T) {
	big := strings.Repeat("x", 5<<20)
	for name, c := range map[string]struct{ file, text, want string }{
		"a tool":    {"tools/a.tool.yaml", "id: a\nimplementation: {type: script, command: python3 ./big, files: [none]}\n", "implementation.files"},
		"a server":  {"mcp/a.yaml", "id: a\ncommand: python3 ./big\nfiles: [none]\n", "files"},
		"a service": {"services/a.yaml", "id: a\ncommand: python3 ./big\nfiles: [none]\n", "files"},
	} {
		_, err := loadTool(map[string]string{c.file: c.text, filepath.Dir(c.file) + "/big": big})
		var faults *Error
		if !errors.As(err, &faults) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		said := faults.Error()
		for _, want := range []string{": " + c.want + "[0]: ", ": " + c.want + ": the files that go with the command have 5242880 bytes; the limit is 4194304 (install"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %s, want %q", name, said, want)
			}
		}
	}
}

// What a definition names and nobody finds would show in the first call only.
func TestWhatNobodyFinds(t *testing.T) {
	p, err := loadTool(map[string]string{
		"tools/a.tool.yaml":    "id: a\nimplementation: {type: script, command: \"python3 ./gone.py --data ./dir --at ./work ../up\", files: [dir]}\n",
		"tools/dir/x":          "x",
		"mcp/s.yaml":           "id: s\ncommand: node ./server.js\n",
		"tools/b.tool.yaml":    "id: b\nparameters: {properties: {amount: {type: number}, nothing: {}}}\nimplementation: {type: workflow, id: w}\n",
		"workflows/w.yaml":     "id: w\ninterfaceInputs: {amounts: {dataFlowType: FLOAT}}\nnodes: [{id: in, type: GroupInput}, {id: out, type: GroupOutput}]\nedges: []\n",
		"services/clock.yaml":  "id: clock\ncommand: python3 -c pass\n",
		"tools/c.tool.yaml":    "id: c\nimplementation: {type: service, name: clok, method: m}\n",
		"tools/d.tool.yaml":    "id: d\nimplementation: {type: service, name: host, method: m}\n",
		"tools/fine.tool.yaml": "id: fine\nimplementation: {type: script, command: python3 dir/x ./dir/x}\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, w := range p.Warnings {
		said = append(said, w.String())
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{
		"tools/a.tool.yaml:2:41: implementation.command: there is no ./gone.py in tools", "no ./work in tools", "no ../up in tools",
		"mcp/s.yaml:2:10: command: there is no ./server.js in mcp",
		`tools/b.tool.yaml:2:35: parameters.properties.amount: the workflow w has no input "amount"; nothing reads this parameter (did you mean "amounts"?)`, `no input "nothing"`,
		`tools/c.tool.yaml:2:39: implementation.name: there is no service "clok" here; only a program that embeds simd can have it (did you mean "clock"?)`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("want %s", want)
		}
	}
	if strings.Contains(all, "fine") || strings.Contains(all, "host") || strings.Contains(all, "./dir ") || t.Failed() {
		t.Error(all)
	}
}

// A default that breaks its schema would show in the first call that leaves the parameter out.
func TestDefaultsFit(t *testing.T) {
	p, err := loadTool(map[string]string{
		"tools/a.tool.yaml": "id: a\nparameters: {properties: {n: {type: integer, minimum: 1, default: 0}, m: {type: integer, default: 2}, o: {$ref: '#/$defs/o', default: {x: 1}}, p: {}}, required: [n, p], $defs: {o: {required: [y]}}}\nimplementation: {type: service, name: a}\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, w := range p.Warnings {
		said = append(said, w.String())
	}
	want := []string{
		`tools/a.tool.yaml:2:67: parameters.properties.n.default: calls without "n" are refused, because its default does not fit: minimum: got 0, want 1`,
		`tools/a.tool.yaml:2:135: parameters.properties.o.default: calls without "o" are refused, because its default does not fit: missing property 'y'`,
	}
	if !slices.Equal(said, want) {
		t.Errorf("%s", strings.Join(said, "\n"))
	}
}

// A rule of tools/mock.yaml names a tool that it can answer for.
func TestMocksNameTools(t *testing.T) {
	_, err := loadTool(map[string]string{
		"tools/look.tool.yaml": "id: look\nimplementation: {type: http, url: \"https://a.example\"}\n",
		"tools/mock.yaml":      "rules:\n  - {match: {tool: lok}, answer: x}\n  - {match: {tool: [look, SayTool]}, answer: x}\n  - {match: {tool: \"*ook\"}, answer: x}\n  - {match: {tool: \"b*\"}, answer: x}\n  - {match: {tool: edit}, answer: x}\n  - {answer: x}\n",
	})
	want := `tools/mock.yaml:2:20: rules[0].match.tool[0]: there is no tool "lok" (did you mean "look"?)
tools/mock.yaml:3:27: rules[1].match.tool[1]: the program itself carries out SayTool, and no rule answers for it (remove it)`
	var faults *Error
	if !errors.As(err, &faults) || fmt.Sprint(faults.Faults[0], "\n", faults.Faults[1]) != want || len(faults.Faults) != 2 || len(faults.Warnings) != 1 || !strings.Contains(faults.Warnings[0].String(), `rules[3].match.tool[0]: there is no tool "b*"`) {
		t.Errorf("%v\n%+v", err, faults)
	}
}

// Definitions of tools that were damaged give faults with places, or load; nothing else.
func TestDamagedTools(t *testing.T) {
	good := toolFiles(t)
	names := []string{"tools/weather.tool.yaml", "tools/order.tool.yaml", "tools/mock.yaml"}
	pieces := []string{"{", "}", "[", "]", ":", "\"", "'", "\n", "  ", "/", "{/", "..", "null", "1e999", "-1", "true", "from", "$ref: '#'", "type: http", "\x00", "\x1b", "&a", "*a", "$expr", "{{", "execution", "needs: [net:a:1]", "\xff"}
	rapid.Check(t, func(r *rapid.T) {
		files := map[string]string{}
		for _, name := range names {
			b := []byte(good[name])
			for range rapid.IntRange(0, 3).Draw(r, "times") {
				at := rapid.IntRange(0, len(b)).Draw(r, "at")
				to := min(len(b), at+rapid.IntRange(0, 20).Draw(r, "cut"))
				b = append(append(append([]byte{}, b[:at]...), rapid.SampledFrom(pieces).Draw(r, "piece")...), b[to:]...)
			}
			files[name] = string(b)
		}
		p, err := loadTool(files)
		var faults *Error
		switch {
		case err == nil:
			for _, id := range p.ToolIDs() {
				x, _ := p.Tool(id)
				_ = x.Check(map[string]any{"town": int64(1), "days": "x"})
			}
		case !errors.As(err, &faults):
			r.Fatal(err)
		default:
			for _, f := range faults.Faults {
				if !strings.HasPrefix(f.File, "tools/") && f.File != "" {
					r.Fatalf("%s", f)
				}
			}
		}
	})
}

// Ids that a model cannot tell apart, and parameters with all their faults.
func TestToolIDsAndParameters(t *testing.T) {
	upper := "id: %\nimplementation: {type: service, name: x}\n"
	for id, want := range map[string]string{
		"weather_Forecast": `"weather_Forecast", which is defined in tools/a.tool.yaml`,
		"say.tool":         `"say.tool" and "SayTool", which comes with the program`,
	} {
		files := map[string]string{"tools/a.tool.yaml": strings.Replace(upper, "%", id, 1), "tools/weather.tool.yaml": toolFiles(t)["tools/weather.tool.yaml"]}
		if _, err := loadTool(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	p, err := loadTool(map[string]string{"tools/weather.tool.yaml": toolFiles(t)["tools/weather.tool.yaml"]})
	if err != nil {
		t.Fatal(err)
	}
	x, _ := p.Tool("weather.forecast")
	if err := x.Check(map[string]any{"town": "Rome", "days": int64(3)}); err != nil {
		t.Error(err)
	}
	err = x.Check(map[string]any{"town": "", "days": int64(9), "a/b~c": true})
	for _, want := range []string{"/town: ", "/days: maximum: got 9, want 7", "/a~1b~0c: the schema does not allow"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if x.CheckOutput("x") == nil || x.CheckOutput(map[string]any{"text": "sun"}) != nil {
		t.Error("the output")
	}
}

// A duration without a unit, or with another one, is told with its field and the units.
func TestDurationsOfTools(t *testing.T) {
	const units = "units are ns, us, ms, s, m and h; a day is 24h"
	for execution, want := range map[string]string{
		`timeout: 30`:        `execution.timeout: want a duration such as "90s" or "1h30m", got a whole number 30 (write "30s" for seconds; ` + units,
		`timeout: "30"`:      `execution.timeout: want a duration such as "90s" or "1h30m", got "30" (write "30s" for seconds; ` + units,
		`timeout: 5 minutes`: `execution.timeout: want a duration such as "90s" or "1h30m", got "5 minutes" (` + units,
		`timeout: true`:      `execution.timeout: want a duration such as "90s" or "1h30m", got a boolean true`,
		`latency: 2`:         `execution.latency: want a duration such as "90s" or "1h30m", got a whole number 2 (write "2s" for seconds; ` + units,
		`latency: 2 days`:    `execution.latency: "2 days" is no latency; want a duration up to 24h such as 2s, or measured (` + units,
	} {
		_, err := loadTool(map[string]string{"tools/a.tool.yaml": "{id: a, implementation: {type: service, name: x}, execution: {" + execution + "}}"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", execution, err, want)
		}
	}
}

// A tool whose workflow calls it again is refused, with the whole circle; what only meets twice is none.
func TestToolsInCircles(t *testing.T) {
	calls := func(tools ...string) string {
		nodes := "interfaceOutputs: {a: {dataFlowType: WILDCARD}}\nnodes:\n  - {id: out, type: GroupOutput}\n"
		edges := "edges:\n"
		for i, id := range tools {
			nodes += fmt.Sprintf("  - {id: n%d, type: CallTool, configValues: {tool: %q}}\n", i, id)
			if i == 0 {
				edges += "  - {source: n0, sourceHandle: result, target: out, targetHandle: a}\n"
			}
		}
		return nodes + edges
	}
	within := func(id, workflow string) string {
		return "{id: " + id + ", implementation: {type: workflow, id: " + workflow + "}}"
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"itself":    {map[string]string{"tools/a.tool.yaml": within("a", "wa"), "workflows/wa.yaml": calls("a")}, []string{"tools/a.tool.yaml:1:25: implementation: the tool calls itself and would never end: a -> a"}},
		"its alias": {map[string]string{"tools/a.tool.yaml": within("look_here", "wa"), "workflows/wa.yaml": calls("LookHere")}, []string{"look_here -> look_here"}},
		"two": {map[string]string{"tools/a.tool.yaml": within("a", "wa"), "workflows/wa.yaml": calls("b"), "tools/b.tool.yaml": within("b", "wb"), "workflows/wb.yaml": calls("a")},
			[]string{"a -> b -> a"}},
		"through a nested workflow": {map[string]string{"tools/a.tool.yaml": within("a", "wa"), "workflows/inner.yaml": calls("a"),
			"workflows/wa.yaml": "interfaceOutputs: {a: {dataFlowType: WILDCARD}}\nnodes:\n  - {id: n, type: SubWorkflow, configValues: {workflow: inner}}\n  - {id: out, type: GroupOutput}\nedges:\n  - {source: n, sourceHandle: a, target: out, targetHandle: a}\n"},
			[]string{"a -> a"}},
		"through a skill": {map[string]string{"tools/a.tool.yaml": within("a", "wa"), "workflows/wa.yaml": calls("workflow:ws"), "workflows/ws.yaml": calls("a")}, []string{"a -> workflow:ws -> a"}},
		"of skills":       {map[string]string{"tools/a.tool.yaml": within("a", "wa"), "workflows/wa.yaml": calls("workflow:ws"), "workflows/ws.yaml": calls("workflow:ws")}, []string{"workflow:ws -> workflow:ws"}},
		"a node": {map[string]string{"tools/a.tool.yaml": "{id: a, implementation: {type: node, kind: CallTool, config: {tool: b}}}", "tools/b.tool.yaml": within("b", "wb"), "workflows/wb.yaml": calls("a")},
			[]string{"a -> b -> a", "tools/a.tool.yaml:1:"}},
		"a kind of a plugin": {map[string]string{"project.json": `{"id": "p", "plugins": ["w"]}`, "plugins/w/plugin.yaml": "{name: w, version: 1.0.0}", "plugins/w/nodes/spy.node.yaml": "{kind: Spy, tool: a}",
			"tools/a.tool.yaml": within("a", "wa"), "workflows/wa.yaml": "interfaceOutputs: {a: {dataFlowType: WILDCARD}}\nnodes:\n  - {id: n, type: Spy}\n  - {id: out, type: GroupOutput}\nedges:\n  - {source: n, sourceHandle: result, target: out, targetHandle: a}\n"},
			[]string{"a -> a"}},
		"met twice": {map[string]string{"tools/a.tool.yaml": within("a", "wa"), "workflows/wa.yaml": calls("b", "c"), "tools/b.tool.yaml": within("b", "wb"), "workflows/wb.yaml": calls("c"),
			"tools/c.tool.yaml": within("c", "wc"), "workflows/wc.yaml": calls("SayTool", "nobody")}, nil},
	} {
		_, err := loadWith(c.files, Options{Tools: []string{"SayTool"}, Kinds: nodes.Standard(nodes.Options{})})
		if (err != nil) != (c.want != nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "never end") != 1 {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
}

// No file takes the place of a tool that comes with the program, in whatever spelling; the
// project itself may allow less to the code of its agents.
func TestIDsOfTheProgramsTools(t *testing.T) {
	for _, id := range []string{"command", "Command", "ctrl", "input", "get_value", "getValue", "GET.VALUE", "read", "edit", "E-dit", "ｅｄｉｔ", "CodeInterpreter:execute", "codeinterpreter.execute", "say_tool", "ＳａｙTool"} {
		for _, dir := range []string{"tools", "plugins/w/tools"} {
			_, err := loadTool(map[string]string{
				"project.json": `{"id": "p", "plugins": ["w"]}`, "plugins/w/plugin.yaml": "{name: w, version: 1.0.0}", "agent_profiles/a.yaml": "a fault, so that those of the plugin are there, too",
				dir + "/a.tool.yaml": "{id: '" + id + "', implementation: {type: service, name: x}}",
			})
			if want := dir + "/a.tool.yaml:1:6: id: the tool \"" + id + "\" and "; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "which comes with the program, are one name for a model") {
				t.Errorf("%s in %s: %v", id, dir, err)
			}
		}
	}
	less := "{id: 'CodeInterpreter:execute', implementation: {type: code, languages: [sh]}}"
	if p, err := loadTool(map[string]string{"tools/a.tool.yaml": less}); err != nil {
		t.Error(err)
	} else if x, _ := p.Tool("CodeInterpreter:execute"); len(x.Definition.Implementation.Languages) != 1 {
		t.Errorf("%+v", x.Definition)
	}
	p, err := loadTool(map[string]string{"project.json": `{"id": "p", "plugins": ["w"]}`, "plugins/w/plugin.yaml": "{name: w, version: 1.0.0}", "plugins/w/tools/a.tool.yaml": less})
	if err != nil || !p.Plugins()["w"].Broken() {
		t.Error("a plugin changes the code of agents", err)
	}
	for _, file := range []string{"tools/a.tool.json", "tools/b.tool.yaml"} {
		_, err = loadTool(map[string]string{"tools/a.tool.yaml": "{id: weather.wind, implementation: {type: service, name: x}}", file: `{"id": "weather.wind", "implementation": {"type": "service", "name": "y"}}`})
		if err == nil || !strings.Contains(err.Error(), `id: the tool id "weather.wind" is given twice: it is defined in tools/a.tool.`) || !strings.Contains(err.Error(), "rename one of them") {
			t.Errorf("%s: %v", file, err)
		}
	}
	_, err = loadTool(map[string]string{"tools/a.tool.yaml": "{id: weather.wind, implementation: {type: service, name: x}}", "tools/b.tool.yaml": "{id: ｗeather.wind, implementation: {type: service, name: x}}"})
	if err == nil || !strings.Contains(err.Error(), `"weather.wind", which is defined in tools/a.tool.yaml`) {
		t.Error(err)
	}
}
