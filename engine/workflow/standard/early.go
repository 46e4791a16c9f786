package standard

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// AssemblePrompt is the node kind that makes prompts.
const AssemblePrompt = "AssemblePrompt"

const worldVersion = "world_version"

// Early is a place of a prompt that shows an input that differs in every turn before
// what stays the same: no endpoint caches what stands behind it, and a fork asks all
// these questions anew.
type Early struct {
	Node    int // index in the definition
	Setting string
	Input   string
}

// Volatile finds such places: in the parts of AssemblePrompt that stay the same, and in a
// template of a question with another input named behind it. settings replace those of
// AssemblePrompt nodes; with them only these nodes are looked at.
func Volatile(d *workflow.Definition, settings map[string]any) (found []Early) {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		switch config := n.ConfigValues; {
		case n.Type == AssemblePrompt:
			if settings != nil {
				config = settings
			}
			for _, key := range [...]string{"persona", "rules"} {
				found = append(found, early(d, i, config, key, false)...)
			}
		case n.Type == "TextTemplate" && settings == nil && asks(d, n.ID):
			found = append(found, early(d, i, config, "template", true)...)
		}
	}
	return found
}

func early(d *workflow.Definition, node int, config map[string]any, key string, followed bool) []Early {
	text, _ := config[key].(string)
	handles := volatileHandles(d, d.Nodes[node].ID)
	if text == "" || len(handles) == 0 {
		return nil
	}
	// The names that a template holds, or seems to: a warning depends on it.
	names := regexp.MustCompile(`(?:^|[^\w)\].])\.([a-z_]+)`).FindAllStringSubmatch(text, -1)
	for i, r := range names {
		other := func(r []string) bool { return handles[r[1]] == "" }
		if input := handles[r[1]]; input != "" && (!followed || slices.ContainsFunc(names[i:], other)) {
			return []Early{{node, key, input}}
		}
	}
	return nil
}

// volatileHandles are a node's handles that bring inputs of the workflow that differ in
// every turn.
func volatileHandles(d *workflow.Definition, node string) map[string]string {
	handles := map[string]string{}
	for _, e := range d.Edges {
		if e.Target != node || !isKind(d, e.Source, workflow.TypeGroupInput) {
			continue
		}
		for _, name := range [...]string{"turn", "now", worldVersion} {
			switch e.SourceHandle {
			case name:
				handles[e.TargetHandle] = name
			case workflow.HandleAll:
				handles[name] = name
			}
		}
	}
	return handles
}

func isKind(d *workflow.Definition, id, kind string) bool {
	return slices.ContainsFunc(d.Nodes, func(n workflow.Node) bool { return n.ID == id && n.Type == kind })
}

// asks reports whether the text of a node is what a model is asked.
func asks(d *workflow.Definition, node string) bool {
	return slices.ContainsFunc(d.Edges, func(e workflow.Edge) bool {
		return e.Source == node && e.SourceHandle == "text" && (e.TargetHandle == "prompt" || e.TargetHandle == "system") && isKind(d, e.Target, "LLMCompletion")
	})
}

// With is a definition whose AssemblePrompt nodes have other settings, and get these inputs,
// lists that the agent brings; false = it has none. They get world_version if the settings name it: else
// the workflow goes without it, since turns that read it are not run ahead.
func With(d *workflow.Definition, settings map[string]any, inputs ...string) (*workflow.Definition, bool) {
	out := *d
	out.Nodes = slices.Clone(d.Nodes)
	found := false
	for i := range out.Nodes {
		if n := &out.Nodes[i]; n.Type == AssemblePrompt {
			found = true
			config := make(map[string]any, len(n.ConfigValues)+len(settings))
			for _, m := range [...]map[string]any{n.ConfigValues, settings} {
				for _, key := range protocol.SortedKeys(m) {
					config[key] = m[key]
				}
			}
			n.ConfigValues = config
		}
	}
	if found {
		if slices.ContainsFunc(slices.Collect(maps.Values(settings)), func(v any) bool { text, _ := v.(string); return strings.Contains(text, "."+worldVersion) }) {
			inputs = append(slices.Clip(inputs), worldVersion)
		}
		for _, name := range inputs {
			show(&out, name)
		}
	}
	return &out, found
}

// show brings an input to the prompts of a definition that does not name it itself.
func show(d *workflow.Definition, input string) {
	enter := slices.IndexFunc(d.Nodes, func(n workflow.Node) bool { return n.Type == workflow.TypeGroupInput })
	if _, has := d.InterfaceInputs[input]; has || enter < 0 {
		return
	}
	kind := workflow.Array
	switch input {
	case "summary":
		kind = workflow.String
	case worldVersion:
		kind = workflow.Integer
	}
	inputs := map[string]workflow.Port{input: {DataFlowType: kind}}
	maps.Copy(inputs, d.InterfaceInputs)
	d.InterfaceInputs, d.Edges = inputs, slices.Clone(d.Edges)
	from := d.Nodes[enter].ID
	for i := range d.Nodes {
		n := &d.Nodes[i]
		comes := func(e workflow.Edge) bool {
			return e.Target == n.ID && (e.TargetHandle == input || e.Source == from && e.TargetHandle == workflow.HandleAll)
		}
		if n.Type == AssemblePrompt && !slices.ContainsFunc(d.Edges, comes) {
			d.Edges = append(d.Edges, workflow.Edge{Source: from, SourceHandle: input, Target: n.ID, TargetHandle: input})
		}
	}
}
