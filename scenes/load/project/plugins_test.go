package project

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tavernsim/engine/workflow"
)

// weather is a project with a plugin that offers something of each kind.
func weather(changes map[string]string) fstest.MapFS {
	files := map[string]string{
		"project.json":               `{"id": "p", "plugins": [{"name": "weather", "version": "^1.2", "config": {"units": "si"}}]}`,
		"scenes/main.yaml":           "{id: main, name: Main, agent_instances: [{instance_id: a, profile_id: walker}, {instance_id: b, profile_id: weather-watcher}]}",
		"scenes/quiet.yaml":          "{id: quiet, name: Quiet, agent_instances: [], plugin_config: {weather: {units: us}}}",
		"agent_profiles/walker.yaml": "{id: walker, name: Walker, version: 1.0.0, schema_version: '1.0', core_deliberation_workflow_id: weather/look, tool_ids_inventory: ['weather:now']}",

		"plugins/weather/plugin.yaml":             "{name: weather, version: 1.2.3, configOptions: [{key: extensions.weather.units, type: string, enum: [si, us], default: si}]}",
		"plugins/weather/tools/now.tool.yaml":     "{id: 'weather:now', description: Now., implementation: {type: script, command: python3 lib/now.py}}",
		"plugins/weather/lib/now.py":              "print(1)",
		"plugins/weather/nodes/now.node.yaml":     "{kind: 'weather:now', tool: 'weather:now'}",
		"plugins/weather/workflows/look.json":     `{"nodes": [{"id": "n", "type": "weather:now"}]}`,
		"plugins/weather/agent_profiles/w.yaml":   "{id: weather-watcher, name: Watcher, version: 1.0.0, schema_version: '1.0', core_deliberation_workflow_id: weather/look}",
		"plugins/weather/knowledgebases/sky.yaml": "{id: sky, name: Sky, version: 1.0.0, schema_version: '1.0', entries: []}",
		"plugins/weather/models/clouds.yaml":      "kind: scripted\nrules: []\n",
		"plugins/weather/web/node_modules/x.js":   "never read",
		"plugins/off/plugin.yaml":                 "this is not read: [",
	}
	maps.Copy(files, changes)
	fsys := fstest.MapFS{}
	for name, text := range files {
		if text != "" {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return fsys
}

// 001 §6: what lies in the folders of a plugin is found as if it were the project's.
func TestPluginsAddToAProject(t *testing.T) {
	p, err := Load(weather(nil), Options{Tools: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	tool, ok := p.Tool("weather:now")
	if !ok || tool.Plugin != "weather" || len(tool.Definition.Files()) != 1 || tool.Definition.Files()[0].Path != "lib/now.py" {
		t.Errorf("the tool: %+v", tool)
	}
	if _, ok := p.KnowledgeBase("sky"); !ok {
		t.Error("no knowledge base")
	}
	if _, ok := p.Workflow("weather/look"); !ok {
		t.Error("no workflow", p.WorkflowIDs())
	}
	if files, _ := p.ModelFiles(); !slices.Contains(files, "plugins/weather/models/clouds.yaml") {
		t.Error(files)
	}
	w := p.Plugins()["weather"]
	if w == nil || !slices.Equal(w.Tools, []string{"weather:now"}) || w.Files["lib/now.py"] == "" || w.Files["plugin.yaml"] == "" || len(p.Plugins()) != 1 {
		t.Errorf("%+v", p.Plugins())
	}
	for _, f := range p.Files() {
		if strings.HasPrefix(f.Path, "plugins/off") || strings.Contains(f.Path, "web") {
			t.Error("read", f.Path)
		}
	}
	if err := p.CopyTo(t.TempDir() + "/copy"); err != nil {
		t.Error(err)
	}
}

// A broken plugin says all that is wrong with it, and the rest loads: only a scene whose
// agents have its tools does not start.
func TestABrokenPluginIsOff(t *testing.T) {
	p, err := Load(weather(map[string]string{
		"plugins/weather/tools/now.tool.yaml":   "{id: 'weather:now', implementation: {type: http}, wind: 1}",
		"plugins/weather/plugin.yaml":           "{name: weather, version: 1.2.3, colour: red}",
		"plugins/weather/agent_profiles/w.yaml": "",
		"scenes/main.yaml":                      "{id: main, name: Main, agent_instances: [{instance_id: a, profile_id: walker}]}",
		"agent_profiles/walker.yaml":            "{id: walker, name: Walker, version: 1.0.0, schema_version: '1.0', core_deliberation_workflow_id: own, tool_ids_inventory: ['weather:now']}",
		"workflows/own.json":                    `{"nodes": []}`,
	}), Options{Tools: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	w := p.Plugins()["weather"]
	var all []string
	for _, f := range w.Faults {
		all = append(all, f.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{"plugins/weather/plugin.yaml:1:33: unknown field \"colour\"", "plugins/weather/tools/now.tool.yaml:1:", "the type http wants url", `unknown field "wind"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the faults lack %q:\n%s", want, text)
		}
	}
	if !w.Broken() || !strings.Contains(p.Warnings[0].String(), "project.json:1:25: plugins: the plugin weather is broken and off") {
		t.Error(p.Warnings)
	}
	for id, starts := range map[string]bool{"main": false, "quiet": true} {
		s, _ := p.Scene(id)
		if err := p.Startable(s); (err == nil) != starts {
			t.Errorf("%s: %v", id, err)
		} else if err != nil && (!strings.Contains(err.Error(), `agent_profiles/walker.yaml:1:`) || !strings.Contains(err.Error(), "it may be of a plugin that is broken: weather") || !strings.Contains(err.Error(), "colour")) {
			t.Error(err)
		}
	}
}

// What project.json says of plugins, and what plugins say of each other.
func TestFaultsOfPlugins(t *testing.T) {
	for name, c := range map[string]struct {
		file, text, want string
	}{
		"a folder that is not there": {"project.json", `{"id": "p", "plugins": [{"name": "wether"}]}`, `project.json:1:34: plugins: there is no plugin "wether": no folder plugins/wether (did you mean "weather"?)`},
		"a path":                     {"project.json", `{"id": "p", "plugins": [{"name": "../../etc"}]}`, `"../../etc" is no name of a plugin`},
		"another version":            {"project.json", `{"id": "p", "plugins": [{"name": "weather", "version": "^2"}]}`, `project.json:1:56: plugins: the project wants ^2 of the plugin weather, which has the version 1.2.3`},
		"no versions":                {"project.json", `{"id": "p", "plugins": [{"name": "weather", "version": "new"}]}`, `"new" names no versions`},
		"listed twice":               {"project.json", `{"id": "p", "plugins": [{"name": "weather"}, {"name": "weather"}]}`, "is listed already"},
		"an unknown option":          {"project.json", `{"id": "p", "plugins": [{"name": "weather", "config": {"unit": "si"}}]}`, "extensions.weather.unit (project): there is no such option; there are units"},
		"a wrong option":             {"project.json", `{"id": "p", "plugins": [{"name": "weather", "config": {"units": "uk"}}]}`, `extensions.weather.units (project): want one of "si", "us", got "uk"`},
		"an option of a scene":       {"scenes/quiet.yaml", "{id: quiet, name: Quiet, agent_instances: [], plugin_config: {weather: {units: 3}}}", "scenes/quiet.yaml:1:"},
		"a scene and no plugin":      {"scenes/quiet.yaml", "{id: quiet, name: Quiet, agent_instances: [], plugin_config: {wether: {}}}", `the project lists no plugin "wether"`},
		"a dependency":               {"plugins/weather/plugin.yaml", "{name: weather, version: 1.2.3, dependencies: {sky: ^1}}", "plugins/weather/plugin.yaml:1:53: dependencies.sky: it needs the plugin sky, which the project does not list"},
		"a folder of another name":   {"plugins/weather/plugin.yaml", "{name: sky, version: 1.2.3}", "the plugin sky lies in a folder weather"},
		"no manifest":                {"plugins/weather/plugin.yaml", "", "plugins/weather: the folder has no plugin.yaml"},
		"two manifests":              {"plugins/weather/plugin.json", `{"name": "weather", "version": "9.9.9"}`, "plugins/weather/plugin.json: the plugin has a second manifest beside plugins/weather/plugin.yaml (remove one)"},
		"no YAML":                    {"plugins/weather/plugin.yaml", "{name: [", "plugins/weather/plugin.yaml:1:"},
		"an empty entry":             {"plugins/weather/plugin.yaml", "{name: weather, version: 1.2.3, tools: {entry: ./instruments}}", "there are no files in ./instruments"},
		"an entry outside":           {"plugins/weather/plugin.yaml", "{name: weather, version: 1.2.3, tools: {entry: ../../tools}}", `"../../tools" is no folder of the plugin`},
		"a service":                  {"plugins/weather/plugin.yaml", "{name: weather, version: 1.2.3, services: {w: {command: ./w | x}}}", "more than one program"},
		"a node kind that there is":  {"plugins/weather/nodes/now.node.yaml", "{kind: Loop, tool: 'weather:now'}", `plugins/weather/nodes/now.node.yaml:1:8: kind: the node kind "Loop" comes with the program`},
		"a node without a tool":      {"plugins/weather/nodes/now.node.yaml", "{kind: 'weather:now', tool: 'weather:then'}", `there is no tool "weather:then" (did you mean "weather:now"?)`},
		"a node of no kind":          {"plugins/weather/nodes/now.node.yaml", "", `type`},
		"an override":                {"plugins/weather/plugin.yaml", "{name: weather, version: 1.2.3, permissions: {services: {override: [journal, x]}}}", "journal is never replaced by a plugin"},
		"a hook":                     {"plugins/weather/plugin.yaml", "{name: weather, version: 1.2.3, permissions: {hooks: ['hook:client:a', 'hook:server:b']}}", `"hook:server:b" is no hook`},
		"a newer program":            {"plugins/weather/plugin.yaml", "{name: weather, version: 1.2.3, requires: {simd: '>=9'}}", "requires.simd: this is simd 0.5.0"},
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			p, err := Load(weather(map[string]string{c.file: c.text}), Options{Tools: []string{}, Kinds: workflow.Kinds{"Loop": nil}, Program: "0.5.0"})
			if err != nil {
				text = err.Error()
			} else if w := p.Plugins()["weather"]; w != nil {
				for _, f := range w.Faults {
					text += f.String() + "\n"
				}
			}
			if !strings.Contains(text, c.want) {
				t.Errorf("got\n%s\nwant %s", text, c.want)
			}
		})
	}
}

// Two plugins cannot have the same tool; the second by name is broken.
func TestPluginsDoNotReplaceEachOther(t *testing.T) {
	p, err := Load(weather(map[string]string{
		"project.json":                       `{"id": "p", "plugins": [{"name": "weather"}, {"name": "zephyr"}]}`,
		"plugins/zephyr/plugin.yaml":         "{name: zephyr, version: 1.0.0}",
		"plugins/zephyr/tools/now.tool.yaml": "{id: Weather.Now, implementation: {type: script, command: date}}",
	}), Options{Tools: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if z := p.Plugins()["zephyr"]; !z.Broken() || !strings.Contains(z.Faults[0].String(), "are one name for a model") || p.Plugins()["weather"].Broken() {
		t.Errorf("%+v", p.Plugins())
	}
}

// A name that could be another folder, or whose variables could be those of another plugin,
// is no name: nothing of it is looked for.
func TestNamesOfListedPlugins(t *testing.T) {
	for _, name := range []string{".", "..", "../x", "weather/tools", "weather__now", "weather_", "weather--x", ".git"} {
		_, err := Load(weather(map[string]string{"project.json": `{"id": "p", "plugins": ["` + name + `"]}`, "scenes/main.yaml": "", "agent_profiles/walker.yaml": "", "plugins/weather__now/plugin.yaml": "{name: weather__now, version: 1.0.0}"}), Options{Tools: []string{}})
		if err == nil || !strings.Contains(err.Error(), `project.json:1:25: plugins: "`+name+`" is no name of a plugin; want `) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
