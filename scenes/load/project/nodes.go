package project

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"tavernsim/engine/agent/menu"
	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/plugin"
)

// nodesDir is where plugins have their node kinds. The project itself has none.
const nodesDir = "nodes"

// loadNodes adds the node kinds of plugins to those that workflows may use.
func (l *loader) loadNodes() {
	own := map[string]string{} // by kind: the file
	for _, file := range l.tree.definitions(nodesDir) {
		if !strings.HasSuffix(source.Stem(file), ".node") {
			l.warns.Add(Fault{File: file, Message: "this file is not read", Suggestion: "call the definition of a node kind NAME.node.yaml"})
			continue
		}
		doc := l.tree.parse(file)
		if doc == nil {
			continue
		}
		n := &plugin.Node{}
		l.decoder.Decode(doc, n)
		for _, f := range n.Check() {
			l.fault(doc, f.Steps, f.Suggestion, "%s", f.Message)
		}
		if where := l.taken(n.Kind, own); where != "" {
			l.fault(doc, at("kind"), "rename it", "the node kind %q %s", protocol.Short(n.Kind, 80), where)
			continue
		}
		t := l.project.tools[n.Tool]
		if t == nil {
			if n.Tool != "" {
				l.fault(doc, at("tool"), source.Suggest(n.Tool, protocol.SortedKeys(l.project.tools)), "there is no tool %q", protocol.Short(n.Tool, 80))
			}
			continue
		}
		if len(own) == 0 {
			if l.opt.Kinds = maps.Clone(l.opt.Kinds); l.opt.Kinds == nil {
				l.opt.Kinds = workflow.Kinds{}
			}
		}
		own[n.Kind] = file
		l.opt.Kinds[n.Kind] = nodes.OfTool(protocol.ToolSpec{Name: n.Tool, Description: n.Description, Parameters: t.Definition.Parameters})
	}
}

// taken says who has a node kind already; "" = nobody.
func (l *loader) taken(kind string, own map[string]string) string {
	if file := own[kind]; file != "" {
		return fmt.Sprintf("is defined in %s", file)
	}
	if _, known := l.opt.Kinds[kind]; known {
		return "comes with the program"
	}
	return ""
}

// ofNode is a tool with its file: one that a node carries out, or that says what it calls.
type ofNode struct {
	doc  *source.Document
	tool *Tool
}

// loadNodeTools makes a workflow of each node that carries out a tool. Without parameters in its
// definition, the tool takes the inputs that the kind can have.
func (l *loader) loadNodeTools() {
	for _, x := range l.ofNode {
		d, kind := x.tool.Definition, x.tool.Definition.Implementation.Kind
		if _, known := l.opt.Kinds[kind]; !known {
			if kind != "" {
				l.fault(x.doc, at("implementation", "kind"), source.Suggest(kind, protocol.SortedKeys(l.opt.Kinds)), "there is no node kind %q that can be a tool; a workflow can have any node (type: workflow)", protocol.Short(kind, 80))
			}
			l.checkTool(x.doc, x.tool, nil)
			continue
		}
		inputs := map[string]workflow.Port(nil)
		if d.Parameters != nil {
			inputs = nodes.Inputs(d.Parameters)
		}
		def, elements := workflow.OfNode("node:"+d.ID, l.opt.Kinds, workflow.Node{Type: kind, ConfigValues: d.Implementation.Config}, inputs)
		def.Name, def.Description = cmp.Or(d.DisplayName, d.ID), d.Description
		if d.Parameters == nil {
			d.Parameters = menu.ParametersWith(def.InterfaceInputs, elements)
		}
		l.checkTool(x.doc, x.tool, nil)
		d.Implementation.ID = def.ID // which no file may say
		l.project.workflows.byID[def.ID] = &Workflow{ID: def.ID, File: x.doc.File, Definition: def, doc: x.doc, tool: true}
	}
}
