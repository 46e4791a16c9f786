package agent

import (
	"slices"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// Tool is the entry of an atomic tool (§2.1.4) in the table. The rest of the engine
// reads the table and has no list of tools of its own.
type Tool struct {
	protocol.ToolSpec

	// Either run carries out a call with bound parameters, or the executor or skill of
	// External does and the turn waits for its answer. run changes the turn only; an
	// effect beyond the agent is a request to the scene.
	run      carryOut
	External // its Spec is not read: ToolSpec has more parameters in some scenes

	status protocol.CallStatus // of a call that worked

	// inFact: the fact of the call's effect (private state, goal, speech, world, event)
	// holds the parameters, so the fact of the call does not repeat them.
	inFact bool
	// sceneOnly: no profile may have the tool.
	sceneOnly bool
	directing bool // only directors may call it

	schema bind.Schema // of the parameters
}

type carryOut func(*Turn, tool.Params) (any, error)

// folds makes an entry of a tool whose work is done when run returns.
func folds(run carryOut, id, description string, params ...tool.Param) Tool {
	return Tool{ToolSpec: tool.Spec(id, description, params...), run: run, status: protocol.CallOK}
}

// requests makes an entry of a tool that sends a request to a service. The service
// decides after the turn; the agent observes a refusal.
func requests(run carryOut, id, description string, params ...tool.Param) Tool {
	return Tool{ToolSpec: tool.Spec(id, description, params...), run: run, status: protocol.CallRequested}
}

// external makes an entry of a tool that an executor or a skill carries out.
func external(x External) Tool {
	return Tool{ToolSpec: x.Spec, External: x, status: protocol.CallOK}
}

// checked are bound parameters that the tool takes. One that is null and need not be there
// is not given. If some are references, the executor that fetches them checks all.
func (t *Tool) checked(params map[string]any, referring bool) (map[string]any, error) {
	if t.Check == nil {
		return params, nil
	}
	given := make(map[string]any, len(params))
	for name, v := range params {
		if v != nil || t.schema.Null(name) {
			given[name] = v
		}
	}
	if referring {
		return given, nil
	}
	return given, t.Check(given)
}

// id is that of a tool, or of a skill if t is nil.
func (t *Tool) id(skill string) string {
	if t == nil {
		return tool.SkillPrefix + skill
	}
	return t.Name
}

// bounded reports whether the workflow of the tool may make some calls only.
func (t *Tool) bounded() bool { return t != nil && t.Calls != nil }

func (t Tool) toldByItsFact() Tool { t.inFact = true; return t }

// Tools is the table of atomic tools, in the order of the specification. Profiles,
// prompts, documentation, node kinds and turns read it.
func Tools() []Tool {
	return slices.Concat(privateTools(), worldTools(), publishTools(), knowledgeTools(), chanceTools(), panelTools(), selfTools(), listenTools(), taskTools(), spaceTools(), directTools())
}

// ToolSpecs describes every tool.
func ToolSpecs() []protocol.ToolSpec {
	var specs []protocol.ToolSpec
	for _, t := range Tools() {
		specs = append(specs, t.ToolSpec)
	}
	return specs
}

// SceneTools lists the ids of all tools: what the scene's own workflows may call.
func SceneTools() []string { return toolIDs(func(Tool) bool { return true }) }

// ProfileTools lists the ids that a profile may allow.
func ProfileTools() []string { return toolIDs(func(t Tool) bool { return !t.sceneOnly }) }

func toolIDs(which func(Tool) bool) []string {
	var ids []string
	for _, t := range Tools() {
		if which(t) {
			ids = append(ids, t.Name)
		}
	}
	return ids
}

// CheckExternal refuses tools of executors that have one id, an atomic tool's id, no
// kind, or parameters that are not the schema of an object.
func CheckExternal(outside []External) error {
	_, _, err := toolTable(outside, nil)
	return err
}

// toolTable makes the index by id of the atomic tools, with more parameters of some, and those of
// executors.
func toolTable(outside []External, more map[string][]tool.Param) (list []Tool, table map[string]*Tool, err error) {
	list, table = Tools(), map[string]*Tool{}
	for i := range list {
		if params := more[list[i].Name]; len(params) > 0 {
			list[i].ToolSpec = tool.With(list[i].ToolSpec, params...)
		}
	}
	for _, x := range outside {
		list = append(list, external(x))
	}
	for i := range list {
		t := &list[i]
		if t.schema, err = bind.SchemaOf(t.Parameters); err != nil {
			return nil, nil, err
		}
		t.schema.Loose, t.schema.References, t.schema.Secrets = t.Check != nil, t.References, t.Secrets
		if table[t.Name] != nil {
			return nil, nil, protocol.Errorf(protocol.KindInvalid, "tool %s: another tool has this id; choose another one", t.Name)
		}
		if (t.run != nil) == (t.Kind != "" || t.Skill != "") || t.Kind != "" && t.Skill != "" {
			return nil, nil, protocol.Errorf(protocol.KindInvalid, "tool %s: want one of a function, an executor (Kind) and a skill (Skill) that carries it out", t.Name)
		}
		table[t.Name] = t
	}
	return list, table, nil
}
