package project

import (
	"tavernsim/engine/permit"
	"tavernsim/engine/workflow"
	"tavernsim/internal/source"
	"tavernsim/tools/plugin"
)

// Definition is project.json: what holds for the project as a whole.
type Definition struct {
	ID             string         `json:"id"`
	Name           string         `json:"name,omitempty"`
	Description    string         `json:"description,omitempty"`
	Version        string         `json:"version,omitempty"`
	SchemaVersion  string         `json:"schema_version,omitempty"`
	DefaultScene   string         `json:"default_scene,omitempty"`
	Model          string         `json:"model,omitempty"`
	AgentProfiles  []string       `json:"agent_profiles,omitempty"`
	EventSchemas   map[string]any `json:"event_schemas,omitempty"`
	ToolPolicy     *permit.Policy `json:"tool_policy,omitempty"`
	Plugins        []plugin.Use   `json:"plugins,omitempty"`
	Dependencies   map[string]any `json:"dependencies,omitempty"`
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`
}

// Options say how to load. The zero value loads without knowing any tool.
type Options struct {
	// Name is the id of a project without project.json: the folder's name.
	// Default "project".
	Name string
	// Tools lists the tool ids that exist. Nil: tool ids are not checked.
	Tools []string
	// Kinds are the node kinds that workflows may use beside the engine's own.
	Kinds workflow.Kinds
	// Model reads a model file, reports its faults and says whether there are none.
	// Nil: what is in model files is not checked.
	Model func(file string, data []byte, report *source.Report) bool
	// Models checks the sound model files in models/ together, and with the other files
	// that lie there. Nil: nobody does.
	Models func(files, others map[string][]byte, report *source.Report)
	// Stops says that the program's flags give a stop condition, so a virtual
	// scene without one is not worth a warning.
	Stops  bool
	Limits Limits
	// Plugins are listed beside those of project.json.
	Plugins []plugin.Use
	// Alone says that there are only these plugins, so that a scene is not missed.
	Alone bool
	// Broken names plugins that are not loaded, because they were broken when the run began.
	Broken []string
	// Begun says that a run has begun with the files. What older programs let pass is a warning then, so that
	// their runs are read.
	Begun bool
	// Program is the version of simd, which plugins may ask for; "" = it has none.
	Program string
}

// ToolMock is the file that says what the tools of a project answer when they are not
// carried out.
const ToolMock = "tools/mock.yaml"

// DefaultModel is the model file that is used when it exists and none is named.
const DefaultModel = "models/scripted.yaml"

func schemaVersions() []string { return []string{"1.0"} }

func dataFlowTypes() []string {
	var list []string
	for _, t := range workflow.Types() {
		list = append(list, string(t))
	}
	return list
}
