package project

import (
	"bytes"
	"os"
	"testing"
	"testing/fstest"

	"tavernsim/engine/agent"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/engine/workflow/standard"
)

func withStandard(t *testing.T, files fstest.MapFS) *Project {
	t.Helper()
	files["project.json"] = &fstest.MapFile{Data: []byte(`{"id": "p"}`)}
	files["agent_profiles/a.yaml"] = &fstest.MapFile{Data: []byte("id: a\nname: A\nversion: 1.0.0\nschema_version: \"1.0\"\ncore_deliberation_workflow_id: workflows/std/core.yaml\nreflection_workflow_id: std/reflect\nprompt: {persona: Me.}")}
	files["scenes/s.yaml"] = &fstest.MapFile{Data: []byte("id: s\nname: S\nagent_instances: []\n")}
	p, err := Load(files, Options{Kinds: nodes.Standard(nodes.Options{Tools: agent.ToolSpecs()})})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A project may name a workflow of the program: it is then a file of the project, and one
// of the project's own at its path has precedence.
func TestStandardWorkflows(t *testing.T) {
	p := withStandard(t, fstest.MapFS{})
	profile, _ := p.Profile("a")
	if profile.Core == nil || profile.Reflection == nil || profile.Definition.CoreDeliberationWorkflowID != "std/core" {
		t.Fatalf("%+v", profile)
	}
	core, ok := p.Workflow("std/core")
	if !ok || core.Plan == nil || core.Definition.Name != "Standard deliberation" {
		t.Fatalf("%+v", core)
	}
	dir := t.TempDir() + "/copy"
	if err := p.CopyTo(dir); err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(dir + "/workflows/std/core.yaml")
	if want, _ := standard.Read("std/core"); err != nil || !bytes.Equal(own, want) {
		t.Fatal(err)
	}
	changed := bytes.Replace(own, []byte("name: Standard deliberation"), []byte("name: Mine"), 1)
	p = withStandard(t, fstest.MapFS{"workflows/std/core.yaml": &fstest.MapFile{Data: changed}})
	if core, _ := p.Workflow("std/core"); core.Definition.Name != "Mine" {
		t.Errorf("the project's own is %q", core.Definition.Name)
	}
	if without := withStandard(t, fstest.MapFS{}); without.Hash() == p.Hash() {
		t.Error("the hash does not tell the workflow of the program from another")
	}
}
