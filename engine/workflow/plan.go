package workflow

import (
	"maps"
	"slices"
	"time"

	"tavernsim/protocol"
)

// Plan is a compiled workflow. It is immutable and serves any number of runs at
// the same time.
//
// All outputs of all nodes have a number, their slot; the first slots are the
// interface inputs. A run is an array of slots and an array of node states.
type Plan struct {
	id       string
	maxSteps int
	inputs   []planInput
	outputs  []planOutput
	outNode  string     // id of the GroupOutput node
	nodes    []planNode // in topological order; GroupInput, GroupOutput and bypassed nodes are wires by now
	roots    []int32    // nodes that wait for nothing
	slots    int
	depth    int // of nested workflows; 0 = none
}

type planInput struct {
	Port // its default is normalized
	name string
}

type planOutput struct {
	name     string
	typ      Type
	required bool
	wire     wire
}

type planNode struct {
	id, kind string
	hash     uint64 // keys the node's chance

	body  Body
	asker Asker
	sub   *subWorkflow // set instead of body, alone or with loop
	loop  *loop

	ins   []planIn
	after []int32 // slots
	first int32   // slot of the first output
	outs  int32
	err   int32 // slot of the error output; -1 = nobody catches

	next []int32 // nodes that wait for this one
	wait int32   // how many nodes this one waits for

	timeout time.Duration
	retries int
	backoff time.Duration
}

type planIn struct {
	name     string
	typ      Type
	required bool
	multi    bool
	without  Absence
	missing  any // the default, normalized
	given    bool
	wires    []wire
}

// A wire brings a value from a slot or holds a constant.
type wire struct {
	slot  int32 // below 0: see the constants
	conv  conversion
	to    Type
	from  Type // of what it brings, before the conversion
	value any
	each  bool // it brings the elements of a list, to a Multi input; from and conv are theirs
}

const (
	slotConst = -1
	slotNever = -2 // an output of a bypassed node that nothing stands in for
)

// frameBytes is about what an execution of the plan takes beside its values.
func (p *Plan) frameBytes() int { return 256 + slotBytes*p.slots + 48*len(p.nodes) }

// ID is the id of the workflow.
func (p *Plan) ID() string { return p.id }

// Caller is a body that calls a tool whose id is known before it runs.
type Caller interface{ Calls() string } // "" = the id is an input

// Calls lists the tools that nodes of the workflow, and of those within it, call by ids that are known before it runs.
func (p *Plan) Calls() []string {
	calls := map[string]bool{}
	p.calls(calls, map[*Plan]bool{})
	delete(calls, "")
	return slices.Sorted(maps.Keys(calls))
}

// calls adds the ids of a plan that was not visited before: several nodes may hold one.
func (p *Plan) calls(ids map[string]bool, visited map[*Plan]bool) {
	if visited[p] {
		return
	}
	visited[p] = true
	for i := range p.nodes {
		n := &p.nodes[i]
		if c, ok := n.body.(Caller); ok {
			ids[c.Calls()] = true
		}
		if n.sub != nil {
			n.sub.plan.calls(ids, visited)
		}
		if n.loop != nil {
			n.loop.plan.calls(ids, visited)
		}
	}
}

// Inputs lists the interface inputs, sorted: the order of the arguments of
// [Run.Start].
func (p *Plan) Inputs() []string {
	names := make([]string, len(p.inputs))
	for i := range p.inputs {
		names[i] = p.inputs[i].name
	}
	return names
}

// Input is the number of an interface input; -1 when there is none.
func (p *Plan) Input(name string) int {
	return slices.IndexFunc(p.inputs, func(in planInput) bool { return in.name == name })
}

// InputPort describes an interface input, by its number.
func (p *Plan) InputPort(i int) Port { return p.inputs[i].Port }

// Outputs lists the interface outputs, sorted: the order of [Run.Output].
func (p *Plan) Outputs() []string {
	names := make([]string, len(p.outputs))
	for i := range p.outputs {
		names[i] = p.outputs[i].name
	}
	return names
}

// Output is the number of an interface output; -1 when there is none.
func (p *Plan) Output(name string) int {
	return slices.IndexFunc(p.outputs, func(out planOutput) bool { return out.name == name })
}

// Takes is a value as an interface port of the type has it.
func (t Type) Takes(v any) (any, error) { return convert(v, t, t.argument()) }

// OutputType is the type of an interface output, by its number.
func (p *Plan) OutputType(i int) Type { return p.outputs[i].typ }

// Args orders named inputs for [Run.Start]. A name that the workflow does not
// have is an error.
func (p *Plan) Args(inputs map[string]any) ([]any, error) {
	args := make([]any, len(p.inputs))
	for _, name := range protocol.SortedKeys(inputs) {
		i := p.Input(name)
		if i < 0 {
			return nil, protocol.Errorf(protocol.KindInvalid, "workflow %s: input %q: no such input (%s)", p.id, name, suggest(name, p.Inputs()))
		}
		args[i] = inputs[name]
	}
	return args, nil
}

// argument checks one argument and puts the default in its place when it is
// missing.
func (in *planInput) argument(v any) (any, error) {
	if v == nil {
		v = in.Default
	}
	if v == nil {
		if in.Required {
			return nil, protocol.Errorf(protocol.KindInvalid, "input %q: is required and was not given", in.name)
		}
		return nil, nil
	}
	out, err := convert(v, in.DataFlowType, in.DataFlowType.argument())
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "input %q: %w", in.name, err)
	}
	return out, nil
}

func (t Type) argument() conversion {
	if t.untyped() {
		return asIs
	}
	return strict
}
