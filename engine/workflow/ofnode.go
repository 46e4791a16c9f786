package workflow

import (
	"cmp"

	"tavernsim/protocol"
)

// OfNode makes the workflow of one node, whose kind is among kinds. Its inputs are those given, or all
// that the kind declares when they are nil; its outputs are all that the kind declares. What is wrong
// with the node, Compile says.
func OfNode(id string, kinds Kinds, n Node, inputs map[string]Port) *Definition {
	const in, one, out = "in", "node", "out"
	n.ID = one
	given := map[string]Type{}
	for name, p := range inputs {
		given[name] = cmp.Or(p.DataFlowType, Wildcard)
	}
	s := &Setup{node: &n, faults: &faults{}, explicit: given, common: given, outUsed: map[string]bool{HandleAll: true}}
	s.config, s.literals = s.normalized(n.ConfigValues, "configValues"), map[string]any{}
	kinds[n.Type].Build(s)
	if inputs == nil {
		inputs = map[string]Port{}
		for _, p := range s.ins {
			inputs[p.Name] = Port{DataFlowType: p.Type, Required: p.Required, Default: p.Default}
		}
	}
	def := &Definition{ID: id, InterfaceInputs: inputs, InterfaceOutputs: map[string]Port{}, Nodes: []Node{{ID: in, Type: TypeGroupInput}, n, {ID: out, Type: TypeGroupOutput}}}
	for _, name := range protocol.SortedKeys(inputs) {
		def.Edges = append(def.Edges, Edge{Source: in, SourceHandle: name, Target: one, TargetHandle: name})
	}
	for _, p := range s.outs {
		def.InterfaceOutputs[p.name] = Port{DataFlowType: p.typ}
		def.Edges = append(def.Edges, Edge{Source: one, SourceHandle: p.name, Target: out, TargetHandle: p.name})
	}
	return def
}
