package agent

import (
	"slices"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// Tool is an atomic tool (§2.1.4): everything that the engine knows of it stands in
// its entry of the table.
type Tool struct {
	protocol.ToolSpec

	// One of the two carries a call out, with parameters that are bound. What run may
	// change is the turn alone; what reaches beyond the agent is a request to the
	// scene. The executor of kind is asked, and the turn waits for its answer.
	run  carryOut
	kind string

	status protocol.CallStatus // of a call that worked

	// inFact: the parameters stand in the fact of what the call did (the private
	// state, a goal, speech, the world, an event), so the fact of the call does not
	// repeat them.
	inFact bool
	// sceneOnly: no profile may have it.
	sceneOnly bool

	schema bind.Schema // of the parameters
}

type carryOut func(*Turn, tool.Params) (any, error)

// folds makes an entry of a tool that is done when it returns.
func folds(run carryOut, id, description string, params ...tool.Param) Tool {
	return Tool{ToolSpec: tool.Spec(id, description, params...), run: run, status: protocol.CallOK}
}

// requests makes an entry of a tool that asks a service, which decides after the
// turn. A refusal is an observation.
func requests(run carryOut, id, description string, params ...tool.Param) Tool {
	return Tool{ToolSpec: tool.Spec(id, description, params...), run: run, status: protocol.CallRequested}
}

// external makes an entry of a tool that an executor carries out.
func external(x External) Tool {
	return Tool{ToolSpec: x.Spec, kind: x.Kind, status: protocol.CallOK}
}

func (t Tool) toldByItsFact() Tool { t.inFact = true; return t }

func (t Tool) forTheScene() Tool { t.sceneOnly = true; return t }

// Tools is the one table of atomic tools, in the order of the specification: what
// profiles may allow, prompts and documentation describe, nodes call and turns
// carry out.
func Tools() []Tool {
	return slices.Concat(privateTools(), worldTools(), publishTools(), knowledgeTools(), chanceTools(), panelTools(), selfTools(), listenTools())
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

// CheckExternal says what is wrong with the tools of executors: two of one id, an
// atomic tool's id, no kind, parameters that are no schema of an object.
func CheckExternal(outside []External) error {
	_, _, err := toolTable(outside)
	return err
}

// toolTable finds tools by id: those of the table, and those of executors.
func toolTable(outside []External) (list []Tool, table map[string]*Tool, err error) {
	list, table = Tools(), map[string]*Tool{}
	for _, x := range outside {
		list = append(list, external(x))
	}
	for i := range list {
		t := &list[i]
		if t.schema, err = bind.SchemaOf(t.Parameters); err != nil {
			return nil, nil, err
		}
		if (t.run == nil) == (t.kind == "") || table[t.Name] != nil {
			return nil, nil, protocol.Errorf(protocol.KindInvalid, "tool %s: it has no implementation, or two entries", t.Name)
		}
		table[t.Name] = t
	}
	return list, table, nil
}

func (t *Turn) nextRequestID() string {
	return t.m.ID.Instance + "/" + itoa(t.end.Turn) + "." + itoa(uint64(len(t.sequenced)+1))
}

// request sends a request to another machine, by way of the scene. write appends
// its encoded form.
func (t *Turn) request(to string, write func([]byte) []byte) {
	t.sequenced = append(t.sequenced, protocol.Sequenced{To: to, Data: t.written(write)})
}
