package workflow

import (
	"fmt"
	"slices"

	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// build lets the kind of a node build it and connects its inputs. All sources
// of the node are built by then, unless they are part of a cycle.
func (u *unit) build(i int) {
	n, b := &u.def.Nodes[i], &u.built[i]
	b.planned = -1
	b.err = wire{slot: slotNever, from: Object}
	s := u.setup(i)
	b.setup = s
	switch n.Type {
	case TypeGroupInput:
		u.buildGroupInput(b)
	case TypeGroupOutput:
		u.buildGroupOutput(b)
	case TypeSubWorkflow:
		b.sub = u.buildSubWorkflow(s)
	case TypeLoop:
		b.loop = u.buildLoop(s)
	default:
		kind := u.opts.Kinds[n.Type]
		if kind == nil {
			b.skip = true
			return
		}
		before := len(u.faults.list) + u.faults.more
		b.body = kind.Build(s)
		if b.body == nil && len(u.faults.list)+u.faults.more == before {
			u.nodeFault(i, "", "", "the kind %s built nothing and said nothing", n.Type)
		}
	}
	if (b.sub == nil && n.Type == TypeSubWorkflow) || (b.loop == nil && n.Type == TypeLoop) {
		b.skip = true // its handles are not known
		return
	}
	s.checkConfig()
	u.checkPatience(i)
	u.connect(i)
	u.place(i)
}

func (u *unit) setup(i int) *Setup {
	n := &u.def.Nodes[i]
	s := &Setup{node: n, index: i, faults: &u.faults,
		explicit: map[string]Type{}, common: map[string]Type{}, offered: map[string]Type{}, outUsed: map[string]bool{}}
	s.config = s.normalized(n.ConfigValues, "configValues")
	s.literals = s.normalized(n.InputValues, "inputValues")
	for _, e := range u.edges {
		if e.source == i {
			s.outUsed[e.sourceH] = true
		}
		if e.target != i {
			continue
		}
		src := &u.built[e.source]
		if e.fromAll {
			for k, w := range src.sources {
				s.offered[src.setup.outs[k].name] = w.from
			}
			continue
		}
		t := src.typeOut(e.sourceH)
		if e.each {
			t = Wildcard
		}
		if _, ok := s.explicit[e.targetH]; !ok {
			s.explicit[e.targetH], s.common[e.targetH] = t, t
		} else if s.common[e.targetH] != t {
			s.common[e.targetH] = Wildcard
		}
	}
	return s
}

// typeOut is the type of an output; WILDCARD while it is not known.
func (b *built) typeOut(handle string) Type {
	if handle == HandleError {
		return Object
	}
	for k, w := range b.sources {
		if b.setup.outs[k].name == handle {
			return w.from
		}
	}
	return Wildcard
}

func (u *unit) buildGroupInput(b *built) {
	for _, in := range u.plan.inputs {
		b.setup.Out(in.name, in.DataFlowType)
	}
}

func (u *unit) buildGroupOutput(b *built) {
	for _, out := range u.plan.outputs {
		b.setup.In(In{Name: out.name, Type: out.typ, Required: out.required, Without: ToleratesAll})
	}
}

// connect finds the wires of every input and reports what does not fit.
func (u *unit) connect(i int) {
	b := &u.built[i]
	s := b.setup
	b.inputs = make([]planIn, len(s.ins))
	for k, in := range s.ins {
		p := &b.inputs[k]
		*p = planIn{name: in.Name, typ: in.Type, required: in.Required, multi: in.Multi, without: in.Without}
		p.missing = u.defaultOf(i, in)
	}
	for _, e := range u.edges {
		if e.target == i && !e.fromAll {
			u.connectEdge(b, e)
		}
	}
	u.connectLiterals(i, b)
	for _, e := range u.edges {
		if e.target == i && e.fromAll {
			u.connectAll(b, e)
		}
	}
	if u.def.Nodes[i].Bypassed {
		return
	}
	for k := range b.inputs {
		p := &b.inputs[k]
		if p.required && !p.given && p.missing == nil {
			u.nodeFault(i, "", fmt.Sprintf("connect an edge to %q or give it in inputValues", p.name), "the required input %q has no value", p.name)
		}
	}
}

func (u *unit) defaultOf(i int, in In) any {
	v, err := protocol.Normalize(in.Default)
	if err == nil && !in.Multi {
		v, err = convert(v, in.Type, in.Type.argument())
	}
	if err != nil {
		u.nodeFault(i, "type", "", "the kind's default for %q: %v", in.Name, err)
	}
	return v
}

func (b *built) input(name string) *planIn {
	for k := range b.inputs {
		if b.inputs[k].name == name {
			return &b.inputs[k]
		}
	}
	return nil
}

// inputNames lists what an edge may feed, for suggestions.
func (b *built) inputNames() []string {
	names := []string{HandleAfter}
	for k := range b.inputs {
		names = append(names, b.inputs[k].name)
	}
	slices.Sort(names)
	return names
}

func (u *unit) connectEdge(b *built, e edge) {
	w, ok := u.source(e)
	if e.targetH == HandleAfter {
		if ok {
			b.after = append(b.after, w)
		}
		return
	}
	p := b.input(e.targetH)
	if p == nil {
		u.edgeFault(e.index, "targetHandle", suggest(e.targetH, b.inputNames()), "%s %q has no input %q",
			u.def.Nodes[e.target].Type, u.def.Nodes[e.target].ID, e.targetH)
		return
	}
	if p.given && !p.multi {
		u.edgeFault(e.index, "targetHandle", "remove one, or join them with a Select node", "the input %q has two edges", p.name)
		return
	}
	p.given = true
	if ok {
		u.connectWire(p, w, e)
	}
}

// source finds the wire of an edge's source handle.
func (u *unit) source(e edge) (wire, bool) {
	src := &u.built[e.source]
	if src.skip || src.sources == nil {
		return wire{}, false // a fault that is reported elsewhere
	}
	if e.sourceH == HandleError && src.planned >= 0 {
		return src.err, true
	}
	for k, w := range src.sources {
		if src.setup.outs[k].name == e.sourceH {
			return w, true
		}
	}
	names := []string{}
	for _, o := range src.setup.outs {
		names = append(names, o.name)
	}
	if src.planned >= 0 {
		names = append(names, HandleError)
	}
	u.edgeFault(e.index, "sourceHandle", suggest(e.sourceH, names), "%s %q has no output %q",
		u.def.Nodes[e.source].Type, u.def.Nodes[e.source].ID, e.sourceH)
	return wire{}, false
}

func (u *unit) connectWire(p *planIn, w wire, e edge) {
	if e.each {
		w.from, w.each = Wildcard, true
	}
	conv, ok := compatible(w.from, p.typ)
	if !ok {
		u.edgeFault(e.index, "targetHandle", conversionHint(w.from, p.typ), "output %q is %s, input %q wants %s", e.sourceH, w.from, p.name, p.typ)
		return
	}
	w.conv, w.to = conv, p.typ
	if w.slot == slotConst {
		v, err := convert(w.value, p.typ, conv)
		if err != nil {
			u.edgeFault(e.index, "targetHandle", "", "%v", err)
		}
		w.value, w.conv = v, asIs
	}
	p.wires = append(p.wires, w)
}

func conversionHint(from, to Type) string {
	switch {
	case to == String:
		return "put a TextTemplate between them"
	case from == String && (to == Object || to == Array):
		return "put a ParseJSON between them"
	case to == Integer && from == Float:
		return "put a Math with Math.round between them"
	}
	return ""
}

func (u *unit) connectLiterals(i int, b *built) {
	s := b.setup
	for _, name := range protocol.SortedKeys(s.literals) {
		p := b.input(name)
		if p == nil {
			u.faults.add(Fault{Node: s.node.ID, Field: name, Path: nodePath(i, "inputValues", name),
				Message: fmt.Sprintf("%s has no input of this name", s.node.Type), Suggestion: suggest(name, b.inputNames())})
			continue
		}
		if p.given {
			continue // an editor keeps the literal when an edge is drawn; the edge wins
		}
		p.given = true
		if err := p.literal(s.literals[name]); err != nil {
			u.faults.add(Fault{Node: s.node.ID, Field: name, Path: nodePath(i, "inputValues", name), Message: err.Error()})
		}
	}
}

// literal turns a literal into constant wires: one, or one per element of the
// list that a Multi input takes.
func (p *planIn) literal(v any) error {
	values := []any{v}
	if p.multi {
		list, ok := v.([]any)
		if !ok {
			return protocol.Errorf(protocol.KindInvalid, "takes several values: want a list, got %s", template.Describe(v))
		}
		values = list
	}
	for _, v := range values {
		c, err := convert(v, p.typ, p.typ.argument())
		if err != nil {
			return err
		}
		p.wires = append(p.wires, wire{slot: slotConst, value: c, from: typeOf(c)})
	}
	if v == nil && !p.typ.untyped() {
		p.given, p.wires = false, nil
	}
	return nil
}

func (u *unit) connectAll(b *built, e edge) {
	src := &u.built[e.source]
	for k, w := range src.sources {
		name := src.setup.outs[k].name
		if p := b.input(name); p != nil && !p.given {
			p.given = true
			e.sourceH = name
			u.connectWire(p, w, e)
		}
	}
}

// place gives the outputs of a node their slots.
func (u *unit) place(i int) {
	n, b := &u.def.Nodes[i], &u.built[i]
	b.sources = make([]wire, len(b.setup.outs))
	switch {
	case n.Type == TypeGroupInput:
		for k := range b.sources {
			b.sources[k] = wire{slot: int32(k), from: b.setup.outs[k].typ}
		}
	case n.Type == TypeGroupOutput:
		u.plan.outNode = n.ID
		for k := range u.plan.outputs {
			if w := b.inputs[k].wires; len(w) > 0 {
				u.plan.outputs[k].wire = w[0]
			}
		}
	case n.Bypassed:
		u.bypass(b)
	default:
		u.addNode(i)
	}
}

// bypass lets each output be the first input of a compatible type. The edges
// that leave it carry the type of what comes in, not the one of the output.
func (u *unit) bypass(b *built) {
	for k, o := range b.setup.outs {
		b.sources[k] = wire{slot: slotNever, from: o.typ}
		for _, p := range b.inputs {
			if p.multi || len(p.wires) == 0 {
				continue
			}
			if _, ok := compatible(p.wires[0].from, o.typ); ok {
				b.sources[k] = p.wires[0]
				break
			}
		}
	}
}

func (u *unit) addNode(i int) {
	n, b := &u.def.Nodes[i], &u.built[i]
	b.planned = int32(len(u.plan.nodes))
	first := int32(u.plan.slots)
	u.plan.slots += len(b.sources)
	for k := range b.sources {
		b.sources[k] = wire{slot: first + int32(k), from: b.setup.outs[k].typ}
	}
	errSlot := int32(-1)
	if b.setup.outUsed[HandleError] {
		errSlot = int32(u.plan.slots)
		u.plan.slots++
		b.err = wire{slot: errSlot, from: Object}
	}
	asker, _ := b.body.(Asker)
	node := planNode{
		id: n.ID, kind: n.Type, hash: protocol.HashString(n.ID),
		body: b.body, asker: asker, sub: b.sub, loop: b.loop,
		ins: b.inputs, first: first, outs: int32(len(b.sources)), err: errSlot,
		timeout: n.Timeout.Std(), retries: n.Retry.Max, backoff: n.Retry.Backoff.Std(),
	}
	for _, w := range b.after {
		if w.slot != slotConst {
			node.after = append(node.after, w.slot)
		}
	}
	u.plan.nodes = append(u.plan.nodes, node)
}

// finish links the nodes of the plan to those that wait for them.
func (u *unit) finish() {
	owner := make([]int32, u.plan.slots) // slot to node; -1 = an interface input
	for i := range owner {
		owner[i] = -1
	}
	for i := range u.plan.nodes {
		n := &u.plan.nodes[i]
		for s := n.first; s < n.first+n.outs; s++ {
			owner[s] = int32(i)
		}
		if n.err >= 0 {
			owner[n.err] = int32(i)
		}
	}
	for i := range u.plan.nodes {
		for _, from := range u.plan.nodes[i].sources(owner) {
			u.plan.nodes[from].next = append(u.plan.nodes[from].next, int32(i))
			u.plan.nodes[i].wait++
		}
		if u.plan.nodes[i].wait == 0 {
			u.plan.roots = append(u.plan.roots, int32(i))
		}
	}
	u.checkOutputs()
}

// sources lists the nodes that a node waits for, each once.
func (n *planNode) sources(owner []int32) []int32 {
	var list []int32
	add := func(slot int32) {
		if slot >= 0 && owner[slot] >= 0 && !slices.Contains(list, owner[slot]) {
			list = append(list, owner[slot])
		}
	}
	for k := range n.ins {
		for _, w := range n.ins[k].wires {
			add(w.slot)
		}
	}
	for _, slot := range n.after {
		add(slot)
	}
	return list
}

// checkOutputs reports an interface without the node that serves it.
func (u *unit) checkOutputs() {
	has := func(kind string) bool {
		return slices.ContainsFunc(u.def.Nodes, func(n Node) bool { return n.Type == kind })
	}
	if len(u.plan.outputs) > 0 && !has(TypeGroupOutput) {
		u.faults.addf([]string{"interfaceOutputs"}, "add a node of this type", "there are outputs, but no %s node gives them", TypeGroupOutput)
	}
}
