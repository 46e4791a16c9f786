package workflow

import (
	"cmp"

	"tavernsim/protocol"
)

// OfNode makes the workflow of one node, whose kind is among kinds. Its inputs are those given, or all
// that the kind can have when they are nil: also those that only some of its nodes have, and the names that its
// configuration reads. Its outputs are all that the kind declares. A Multi input is a list, of whose elements each comes as by
// an edge of its own; elements are their types. What is wrong with the node, Compile says.
func OfNode(id string, kinds Kinds, n Node, inputs map[string]Port) (def *Definition, elements map[string]Type) {
	const in, one, out = "in", "node", "out"
	n.ID = one
	given := map[string]Type{}
	for name, p := range inputs {
		given[name] = cmp.Or(p.DataFlowType, Wildcard)
	}
	s := &Setup{node: &n, faults: &faults{}, explicit: given, common: given, outUsed: map[string]bool{HandleAll: true}, open: inputs == nil}
	s.config, s.literals = s.normalized(n.ConfigValues, "configValues"), map[string]any{}
	kinds[n.Type].Build(s)
	elements = map[string]Type{}
	all := map[string]Port{}
	for _, p := range s.ins {
		typ := p.Type
		if declared, ok := inputs[p.Name]; p.Multi && (!ok || declared.DataFlowType == Array) {
			elements[p.Name], typ = typ, Array
		}
		all[p.Name] = Port{DataFlowType: typ, Required: p.Required, Default: p.Default}
	}
	if inputs == nil {
		inputs = all
	}
	def = &Definition{ID: id, InterfaceInputs: inputs, InterfaceOutputs: map[string]Port{}, Nodes: []Node{{ID: in, Type: TypeGroupInput}, n, {ID: out, Type: TypeGroupOutput}}}
	for _, name := range protocol.SortedKeys(inputs) {
		def.Edges = append(def.Edges, Edge{Source: in, SourceHandle: name, Target: one, TargetHandle: name, each: elements[name] != ""})
	}
	for _, p := range s.outs {
		def.InterfaceOutputs[p.name] = Port{DataFlowType: p.typ}
		def.Edges = append(def.Edges, Edge{Source: one, SourceHandle: p.name, Target: out, TargetHandle: p.name})
	}
	return def, elements
}
