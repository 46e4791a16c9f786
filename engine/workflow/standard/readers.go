package standard

import (
	"maps"
	"slices"

	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

const completion = "LLMCompletion"

// Fit tells each AssemblePrompt node the model that reads its messages, where the
// LLMCompletion node that takes them names one: the node's setting model.
func Fit(d *workflow.Definition) *workflow.Definition {
	out := d
	for i := range d.Nodes {
		n := &d.Nodes[i]
		name := readBy(d, n.ID)
		if n.Type != AssemblePrompt || name == "" || n.ConfigValues["model"] != nil {
			continue
		}
		if out == d {
			clone := *d
			clone.Nodes = slices.Clone(d.Nodes)
			out = &clone
		}
		config := maps.Clone(n.ConfigValues)
		if config == nil {
			config = map[string]any{}
		}
		config["model"] = name
		out.Nodes[i].ConfigValues = config
	}
	return out
}

// readBy is the model that a node which takes the messages of another names; "" = none does.
func readBy(d *workflow.Definition, node string) string {
	for _, e := range d.Edges {
		if e.Source != node || e.SourceHandle != "messages" && e.SourceHandle != workflow.HandleAll {
			continue
		}
		for i := range d.Nodes {
			if n := &d.Nodes[i]; n.ID == e.Target && n.Type == completion {
				if name, ok := n.ConfigValues["model"].(string); ok && name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// Longer is an AssemblePrompt node whose setting context is more than its model reads.
type Longer struct {
	Node           int // index in the definition
	Context, Known int
	Model          string // "" = the one for requests that name none
}

// TooLong finds such nodes. rooms are those of models, by their names.
func TooLong(d *workflow.Definition, rooms map[string]workflow.Room) (found []Longer) {
	d = Fit(d)
	for i := range d.Nodes {
		n := &d.Nodes[i]
		name, _ := n.ConfigValues["model"].(string)
		written, _ := protocol.Normalize(n.ConfigValues["context"]) // what is no value was reported
		set, ok := protocol.Number(written)
		if known := rooms[name].Context; n.Type == AssemblePrompt && ok && known > 0 && set > float64(known) {
			found = append(found, Longer{i, int(set), known, name})
		}
	}
	return found
}

// Choice is the tool that an LLMCompletion node makes its model call (toolChoice).
type Choice struct {
	Node   int // index in the definition
	Tool   string
	Known  bool     // Names are the tools that it offers; else those of the agent, or nobody knows
	Names  []string // written into the definition
	Agents bool     // it offers the tools and skills of the agent
}

// Choices finds the nodes that choose one tool by its name.
func Choices(d *workflow.Definition) (found []Choice) {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		tool, _ := n.ConfigValues["toolChoice"].(string)
		if n.Type != completion || slices.Contains([]string{"", "auto", "none", "required"}, tool) {
			continue
		}
		c := Choice{Node: i, Tool: tool}
		if literal, ok := n.InputValues["tools"]; ok {
			c.Known, c.Names = true, names(literal)
		} else {
			c.offers(d, n.ID, len(d.Nodes))
		}
		found = append(found, c)
	}
	return found
}

// offers follows the edge that brings a node its tools.
func (c *Choice) offers(d *workflow.Definition, node string, depth int) {
	e, all := bringer(d, node)
	if e == nil {
		c.Known = !all // an edge from a node of which nothing is known may bring tools
		return
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.ID != e.Source {
			continue
		}
		switch {
		case n.Type == workflow.TypeGroupInput:
			handle := e.SourceHandle
			if handle == workflow.HandleAll {
				handle = "tools"
			}
			_, input := d.InterfaceInputs[handle]
			c.Agents, c.Known = input && handle == "tools", !input
		case n.Type == AssemblePrompt && depth > 0:
			if g, _ := n.ConfigValues["grammar"].(string); g != "" && g != "native" {
				c.Known = true // it offers none
				return
			}
			c.offers(d, n.ID, depth-1)
		case n.Type == "Constant":
			c.Known, c.Names = true, names(n.ConfigValues["value"])
		}
	}
}

// bringer is the edge that brings tools to a node; all reports whether there is one of all
// outputs whose source is no node that is known to have tools.
func bringer(d *workflow.Definition, node string) (e *workflow.Edge, all bool) {
	for i := range d.Edges {
		if x := &d.Edges[i]; x.Target == node && x.TargetHandle == "tools" {
			return x, false
		}
	}
	for i := range d.Edges {
		if x := &d.Edges[i]; x.Target == node && x.TargetHandle == workflow.HandleAll {
			if isKind(d, x.Source, workflow.TypeGroupInput) || isKind(d, x.Source, AssemblePrompt) {
				return x, false
			}
			all = true
		}
	}
	return nil, all
}

// names are those of tools in a value.
func names(v any) (list []string) {
	tools, _ := v.([]any)
	for _, t := range tools {
		m, _ := t.(map[string]any)
		for _, key := range []string{"id", "name"} {
			if name, ok := m[key].(string); ok && name != "" {
				list = append(list, name)
				break
			}
		}
	}
	return list
}
