package project

import (
	"reflect"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/workflow"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
	"tavernsim/tools/plugin"
)

// definitionKind is one kind of definition file.
type definitionKind struct {
	title string
	typ   reflect.Type
}

func definitionKinds() map[string]definitionKind {
	return map[string]definitionKind{
		"project":        {"Project (project.json)", reflect.TypeFor[Definition]()},
		"agent_profile":  {"Agent profile (agent_profiles/)", reflect.TypeFor[profile.Profile]()},
		"plugin":         {"Plugin (plugins/NAME/plugin.yaml)", reflect.TypeFor[plugin.Manifest]()},
		"scene":          {"Scene (scenes/)", reflect.TypeFor[agenda.Scene]()},
		"knowledge_base": {"Knowledge base (knowledgebases/)", reflect.TypeFor[knowledge.KnowledgeBase]()},
		"mcp_server":     {"MCP server (mcp/NAME.yaml)", reflect.TypeFor[manifest.Server]()},
		"service":        {"Service (services/NAME.yaml)", reflect.TypeFor[manifest.Resident]()},
		"tool":           {"Tool (tools/NAME.tool.yaml)", reflect.TypeFor[manifest.Tool]()},
		"workflow":       {"Workflow (workflows/)", reflect.TypeFor[workflow.Definition]()},
	}
}

// SchemaNames lists the kinds of definition files that have an editor schema.
func SchemaNames() []string { return protocol.SortedKeys(definitionKinds()) }

// Schema is the JSON Schema (2020-12) of a kind of definition file, for editors:
// a value, ready for encoding/json.
func Schema(name string) (map[string]any, error) {
	k, ok := definitionKinds()[name]
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "project: schema %q: %s", name, suggestOr(name, SchemaNames()))
	}
	return newDecoder(&source.Report{}).Schema(k.typ, k.title), nil
}
