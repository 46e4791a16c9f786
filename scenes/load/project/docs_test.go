package project

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/budget"
	"tavernsim/engine/collab"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/panel"
	"tavernsim/engine/permit"
	"tavernsim/engine/script/plot"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/space/ground"
	"tavernsim/engine/travel"
	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/internal/doctest"
	"tavernsim/internal/source"
	"tavernsim/tools/manifest"
	"tavernsim/tools/plugin"
	"tavernsim/tools/toolmock"
)

const docsDir = "../../../docs/formats"

func docPages() []string {
	return []string{"project.md", "agent_profile.md", "scene.md", "knowledge_base.md", "tool.md", "mcp.md", "service.md", "plugin.md", "script.md", "space.md"}
}

// definitionTypes are the structs of which files are made.
func definitionTypes() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[Definition](),
		reflect.TypeFor[profile.Profile](), reflect.TypeFor[profile.KnowledgeReference](), reflect.TypeFor[profile.Subscription](),
		reflect.TypeFor[profile.Prompt](), reflect.TypeFor[profile.PromptSection](), reflect.TypeFor[profile.GoalReference](), reflect.TypeFor[profile.Motivation](), reflect.TypeFor[profile.Drive](), reflect.TypeFor[profile.Memory](), reflect.TypeFor[profile.Episodes](), reflect.TypeFor[profile.Summary](), reflect.TypeFor[profile.History](), reflect.TypeFor[profile.Reflection](), reflect.TypeFor[profile.Idle](), reflect.TypeFor[profile.Ceilings](), reflect.TypeFor[profile.WritePermissions](), reflect.TypeFor[profile.RuntimeConfig](),
		reflect.TypeFor[profile.InboxConfig](), reflect.TypeFor[profile.LaneConfig](), reflect.TypeFor[profile.InterruptConfig](),
		reflect.TypeFor[budget.Budget](), reflect.TypeFor[budget.Tools](), reflect.TypeFor[agenda.Scene](), reflect.TypeFor[agenda.Orders](), reflect.TypeFor[turns.Turns](), reflect.TypeFor[ground.Definition](), reflect.TypeFor[ground.Grid](), reflect.TypeFor[ground.Place](), reflect.TypeFor[ground.Perception](), reflect.TypeFor[agenda.AgentInstance](), reflect.TypeFor[agenda.EventBusConfig](), reflect.TypeFor[agenda.ThrottleRule](),
		reflect.TypeFor[agenda.AssociatedPanel](), reflect.TypeFor[agenda.Simulation](), reflect.TypeFor[agenda.Stop](), reflect.TypeFor[agenda.Limits](),
		reflect.TypeFor[plot.Definition](), reflect.TypeFor[plot.StateDefinition](), reflect.TypeFor[plot.Transition](), reflect.TypeFor[plot.Collect](), reflect.TypeFor[collab.Voting](), reflect.TypeFor[collab.Auction](), reflect.TypeFor[plot.Until](), reflect.TypeFor[plot.Schedule](), reflect.TypeFor[plot.Ending](),
		reflect.TypeFor[knowledge.KnowledgeBase](), reflect.TypeFor[knowledge.Learning](), reflect.TypeFor[knowledge.Embedding](), reflect.TypeFor[knowledge.Entry](), reflect.TypeFor[criteria.Activation](), reflect.TypeFor[criteria.Similar](), reflect.TypeFor[criteria.Scan](), reflect.TypeFor[criteria.Scope](), reflect.TypeFor[criteria.Defaults](), reflect.TypeFor[knowledge.Goal](), reflect.TypeFor[goal.Condition](),
		reflect.TypeFor[manifest.Tool](), reflect.TypeFor[manifest.Limits](), reflect.TypeFor[manifest.Implementation](), reflect.TypeFor[manifest.Execution](),
		reflect.TypeFor[manifest.Server](), reflect.TypeFor[manifest.Pin](), reflect.TypeFor[manifest.Pinned](), reflect.TypeFor[manifest.Resident](),
		reflect.TypeFor[plugin.Manifest](), reflect.TypeFor[plugin.Requires](), reflect.TypeFor[plugin.Entry](), reflect.TypeFor[plugin.Service](), reflect.TypeFor[plugin.Node](), reflect.TypeFor[plugin.Hook](), reflect.TypeFor[plugin.Override](), reflect.TypeFor[plugin.Price](), reflect.TypeFor[plugin.Permissions](), reflect.TypeFor[plugin.UI](),
		reflect.TypeFor[plugin.Overrides](), reflect.TypeFor[plugin.Frontend](), reflect.TypeFor[plugin.Build](), reflect.TypeFor[plugin.Option](), reflect.TypeFor[plugin.Use](),
		reflect.TypeFor[panel.Panel](), reflect.TypeFor[panel.UI](), reflect.TypeFor[panel.Action](), reflect.TypeFor[panel.Binding](),
		reflect.TypeFor[permit.Policy](), reflect.TypeFor[permit.Rule](),
		reflect.TypeFor[toolmock.Script](), reflect.TypeFor[toolmock.Rule](), reflect.TypeFor[toolmock.Match](), reflect.TypeFor[toolmock.Answer](), reflect.TypeFor[toolmock.Latency](), reflect.TypeFor[toolmock.Failures](),
		reflect.TypeFor[travel.Link](), reflect.TypeFor[workflow.Definition](), reflect.TypeFor[workflow.Port](), reflect.TypeFor[workflow.Node](), reflect.TypeFor[workflow.Retry](), reflect.TypeFor[workflow.Edge](),
	}
}

// Every struct that a field of a file may have is one of the definitionTypes: the tests of this
// file see the fields of no other.
func TestEveryStructIsADefinition(t *testing.T) {
	listed := definitionTypes()
	for _, typ := range listed {
		for _, f := range source.Fields(typ) {
			if in := structIn(f.Type); in != nil && !slices.Contains(listed, in) {
				t.Errorf("%s.%s has values of %s: add it to definitionTypes", typ, f.Name, in)
			}
		}
	}
}

// structIn is the struct with fields of a file that values of a type have; nil = none.
func structIn(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return structIn(t.Elem())
	case reflect.Struct:
		if len(source.Fields(t)) > 0 {
			return t
		}
	}
	return nil
}

// Every field has a rule with a sentence and a section, and every rule a field.
func TestRulesCoverTheFields(t *testing.T) {
	rules := Rules()
	for _, typ := range definitionTypes() {
		for _, f := range source.Fields(typ) {
			key := typ.String() + "." + f.Name
			if r, ok := rules[key]; !ok || r.Doc == "" || r.Section == "" {
				t.Errorf("%s has no rule with Doc and Section", key)
			}
			delete(rules, key)
		}
	}
	for key := range rules {
		t.Errorf("the rule %s has no field", key)
	}
}

// What is written is honoured or refused: a zero, or an empty list, of a field without a pointer is what is not
// given, so it is the default itself or a fault.
func TestWrittenZeros(t *testing.T) {
	doctest.Zeros(t, definitionTypes(), Rules(),
		"profile.Profile.perceives", "profile.Profile.publishes", "profile.Profile.publishes_to", // [] is nothing
		"profile.WritePermissions.allow", "permit.Rule.profiles", "permit.Rule.agents", "ground.Place.size", // [] is refused
		"workflow.Port.default") // any value
}

// The tables of the pages are what the loader does.
// go test ./scenes/load/project -run TestDocTables -update rewrites them.
func TestDocTables(t *testing.T) {
	doctest.Tables{Dir: docsDir, Types: definitionTypes(), Rules: Rules(), Sections: true, Elsewhere: []string{"workflow"}, Pages: map[string]string{
		"project": "project.md", "profile": "agent_profile.md", "agenda": "scene.md", "plot": "script.md", "ground": "space.md", "collab": "script.md", "turns": "scene.md", "budget": "scene.md", "knowledge": "knowledge_base.md", "workflow": "workflow.md", "manifest": "tool.md", "manifest.Server": "mcp.md", "manifest.Pin": "mcp.md", "manifest.Pinned": "mcp.md", "manifest.Resident": "service.md", "toolmock": "tool.md", "permit": "project.md", "plugin": "plugin.md", "panel": "panel.md",
	}}.Check(t, *update)
}

// The examples of the pages are one project, and it loads without a word; the
// bad example gives the faults that stand under it.
func TestDocExamples(t *testing.T) {
	good := fstest.MapFS{}
	bad := map[string]string{} // file to its faults
	badText := map[string][]byte{}
	block := regexp.MustCompile("(?s)<!-- (file|bad|faults): ([^ ]+) -->\n+```[a-z]*\n(.*?)```")
	for _, page := range docPages() {
		text, err := os.ReadFile(filepath.Join(docsDir, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			switch m[1] {
			case "file":
				good[m[2]] = &fstest.MapFile{Data: []byte(m[3])}
			case "bad":
				badText[m[2]] = []byte(m[3])
			case "faults":
				bad[m[2]] = m[3]
			}
		}
	}
	p, err := Load(good, Options{Kinds: nodes.Standard(nodes.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) > 0 || len(p.SceneIDs()) == 0 || len(p.ProfileIDs()) == 0 || len(p.KnowledgeBaseIDs()) == 0 {
		t.Error(p.Warnings, p.SceneIDs(), p.ProfileIDs(), p.KnowledgeBaseIDs())
	}
	if len(bad) == 0 || len(bad) != len(badText) {
		t.Errorf("%d bad examples, %d fault lists", len(badText), len(bad))
	}
	for file, want := range bad {
		fsys := fstest.MapFS{file: &fstest.MapFile{Data: badText[file]}}
		for name, f := range good {
			if name != file {
				fsys[name] = f
			}
		}
		p, err := Load(fsys, Options{Kinds: nodes.Standard(nodes.Options{})})
		if name := pluginOf(file); err == nil && name != "" {
			report := &source.Report{}
			for _, f := range p.Plugins()[name].Faults {
				report.Add(f)
			}
			err = report.Err()
		}
		if got := fmt.Sprintln(err); got != want {
			t.Errorf("%s:\ngot\n%swant\n%s", file, got, want)
		}
	}
}

// The editor schemas are valid and accept what the loader accepts.
func TestEditorSchemas(t *testing.T) {
	files := map[string]string{
		"testdata/appendix/agent_profiles/elara.json":               "agent_profile",
		"testdata/appendix/scenes/forest_outskirts.json":            "scene",
		"testdata/appendix/knowledgebases/elara_journal.yaml":       "knowledge_base",
		"testdata/appendix/workflows/core_npc_deliberation_v1.json": "workflow",
	}
	compiled := map[string]*jsonschema.Schema{}
	for _, name := range SchemaNames() {
		schema, err := Schema(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(schema) // a command prints it
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("x.json", doc); err != nil {
			t.Fatal(err)
		}
		if compiled[name], err = c.Compile("x.json"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for file, name := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc := source.Parse(file, text, source.Limits{}, &source.Report{})
		if err := compiled[name].Validate(doc.Root.Value()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := compiled["scene"].Validate(map[string]any{"id": "x", "name": "y", "agent_instances": []any{}, "typo": true}); err == nil {
		t.Error("the schema of a scene takes an unknown field")
	}
	if _, err := Schema("scenes"); err == nil || !strings.Contains(err.Error(), `did you mean "scene"?`) {
		t.Error(err)
	}
}
