package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tavernsim/protocol"
)

// Bounds of a definition and of a run.
const (
	MaxNodes   = 2_000     // of one definition
	MaxEdges   = 20_000    // of one definition
	MaxNesting = 16        // workflows inside each other
	MaxRetries = 16        // of one node
	MaxBackoff = 1 << 40   // nanoseconds, about 18 minutes: the longest wait before a retry
	MaxSteps   = 1_000_000 // the most that Options.MaxSteps may ask for

	DefaultSteps = 10_000
)

// Options of Compile. The zero Options know no kinds but the engine's own and
// no other workflow.
type Options struct {
	Kinds Kinds
	// Lookup finds the workflows that SubWorkflow and Loop nodes name.
	Lookup func(id string) (*Definition, bool)
	// Known lists their ids, for suggestions only.
	Known []string
	// MaxSteps bounds one run: node attempts and nested workflows together.
	// 0 = DefaultSteps. A run that needs more fails as a whole.
	MaxSteps int
}

// Compile checks a definition and makes it a plan. It reports every fault at
// once; with faults that are not strict there is no plan. A nested workflow's faults are reported
// when that one is compiled; here they are one fault of the node that uses it.
func Compile(def *Definition, opts Options) (*Plan, []Fault) {
	c := &compiler{opts: opts, plans: map[string]compiled{}}
	if c.opts.MaxSteps <= 0 {
		c.opts.MaxSteps = DefaultSteps
	}
	c.opts.MaxSteps = min(c.opts.MaxSteps, MaxSteps)
	return c.compile(def)
}

// compiler lives for one call of Compile.
type compiler struct {
	opts  Options
	stack []string // ids of the workflows being compiled, outermost first
	plans map[string]compiled
}

// compiled is a nested workflow that was met on the way.
type compiled struct {
	plan *Plan  // nil = has faults
	why  string // the first of them
}

// unit is one definition on its way to a plan.
type unit struct {
	*compiler
	def    *Definition
	faults faults
	byID   map[string]int // of usable nodes
	edges  []edge         // usable ones
	built  []built        // by node index
	plan   *Plan
}

type edge struct {
	index            int
	source, target   int // node indexes
	fromAll          bool
	sourceH, targetH string
	each             bool
}

// built is a node after its kind has built it.
type built struct {
	skip    bool // has faults that leave nothing to build
	setup   *Setup
	body    Body
	sub     *subWorkflow
	loop    *loop
	inputs  []planIn // by number of setup.ins
	after   []wire
	sources []wire // by number of setup.outs: where consumers find it
	err     wire
	planned int32 // number in the plan; -1 = none
}

func (c *compiler) compile(def *Definition) (*Plan, []Fault) {
	u := &unit{compiler: c, def: def, byID: map[string]int{}, built: make([]built, len(def.Nodes))}
	u.faults.workflow = def.ID
	u.plan = &Plan{id: def.ID, maxSteps: c.opts.MaxSteps}
	if len(def.Nodes) > MaxNodes || len(def.Edges) > MaxEdges {
		u.faults.addf([]string{"nodes"}, "split it into nested workflows", "%d nodes and %d edges; the limits are %d and %d",
			len(def.Nodes), len(def.Edges), MaxNodes, MaxEdges)
		return nil, u.faults.done()
	}
	c.stack = append(c.stack, def.ID)
	defer func() { c.stack = c.stack[:len(c.stack)-1] }()

	u.checkInterface()
	u.checkNodes()
	u.checkEdges()
	for _, i := range u.order() {
		u.build(i)
	}
	u.finish()
	list := u.faults.done()
	if u.faults.plain {
		return nil, list
	}
	return u.plan, list
}

func (u *unit) checkInterface() {
	for _, name := range protocol.SortedKeys(u.def.InterfaceInputs) {
		p := u.port("interfaceInputs", name, u.def.InterfaceInputs[name])
		def, err := protocol.Normalize(p.Default)
		if err == nil {
			def, err = convert(def, p.DataFlowType, p.DataFlowType.argument())
		}
		if err != nil {
			u.faults.add(Fault{Field: name, Path: []string{"interfaceInputs", name, "default"}, Message: err.Error()})
		}
		p.Default = def
		u.plan.inputs = append(u.plan.inputs, planInput{p, name})
	}
	for _, name := range protocol.SortedKeys(u.def.InterfaceOutputs) {
		p := u.port("interfaceOutputs", name, u.def.InterfaceOutputs[name])
		if p.Default != nil {
			u.faults.add(Fault{Field: name, Path: []string{"interfaceOutputs", name, "default"}, Message: "only inputs have a default",
				Suggestion: "connect a Select node, whose last candidate is the value", Strict: true})
		}
		u.plan.outputs = append(u.plan.outputs, planOutput{name: name, typ: p.DataFlowType, required: p.Required, wire: wire{slot: slotNever}})
	}
	u.plan.slots = len(u.plan.inputs)
}

func (u *unit) port(side, name string, p Port) Port {
	if p.DataFlowType == "" {
		p.DataFlowType = Wildcard
	}
	if !p.DataFlowType.valid() {
		u.faults.add(Fault{Field: name, Path: []string{side, name, "dataFlowType"},
			Message: fmt.Sprintf("no data flow type %q", p.DataFlowType), Suggestion: suggest(string(p.DataFlowType), typeNames())})
		p.DataFlowType = Wildcard
	}
	if name == HandleAfter || name == HandleError || name == HandleAll || name == "" {
		u.faults.add(Fault{Field: name, Path: []string{side, name}, Message: fmt.Sprintf("the name %q is reserved", name), Suggestion: "rename it"})
	}
	return p
}

func typeNames() []string {
	var names []string
	for _, t := range Types() {
		names = append(names, string(t))
	}
	return names
}

func (u *unit) checkNodes() {
	seen := map[string]string{} // GroupInput and GroupOutput: at most one each
	for i := range u.def.Nodes {
		n := &u.def.Nodes[i]
		switch {
		case n.ID == "":
			u.nodeFault(i, "id", "", "is missing")
		case strings.ContainsAny(n.ID, "/#~"):
			u.nodeFault(i, "id", "use letters, digits, - and _", "must not hold / # or ~, which make the paths of nested nodes")
		}
		if first, ok := u.byID[n.ID]; ok {
			u.nodeFault(i, "id", "rename one of them", "is also the id of node %d", first)
		} else {
			u.byID[n.ID] = i
		}
		if n.Type == TypeGroupInput || n.Type == TypeGroupOutput {
			if first, ok := seen[n.Type]; ok {
				u.nodeFault(i, "type", "use "+first, "a workflow has one %s", n.Type)
			}
			seen[n.Type] = n.ID
		}
		u.checkKind(i, n)
		u.checkLimits(i, n)
	}
}

func (u *unit) checkKind(i int, n *Node) {
	switch n.Type {
	case TypeGroupInput, TypeGroupOutput, TypeSubWorkflow, TypeLoop:
		return
	}
	if u.opts.Kinds[n.Type] != nil {
		return
	}
	names := append(slices.Collect(maps.Keys(u.opts.Kinds)), TypeGroupInput, TypeGroupOutput, TypeSubWorkflow, TypeLoop)
	slices.Sort(names)
	hint := suggest(n.Type, names)
	if strings.HasPrefix(n.Type, "VectorSearch") {
		hint = "use QueryKnowledgeBase: it searches by vectors, too, if the base has an embedding"
	}
	u.nodeFault(i, "type", hint, "no node kind %q", n.Type)
}

func (u *unit) checkLimits(i int, n *Node) {
	if n.Bypassed && (n.Type == TypeGroupInput || n.Type == TypeGroupOutput) {
		u.nodeFault(i, "bypassed", "remove the flag", "%s cannot be bypassed", n.Type)
	}
	if n.Timeout < 0 {
		u.nodeFault(i, "timeout", "write 30s, or leave it out for no bound", "is below 0")
	}
	if n.Retry.Max < 0 || n.Retry.Max > MaxRetries {
		u.nodeFault(i, "retry", "", "max is %d; want 0 to %d", n.Retry.Max, MaxRetries)
	}
	if n.Retry.Backoff < 0 || n.Retry.Backoff > MaxBackoff {
		u.nodeFault(i, "retry", "", "backoff is %s; want 0s to %s", n.Retry.Backoff.Std(), time.Duration(MaxBackoff))
	}
}

// checkPatience refuses a bound or a repetition that never comes to pass: a node that asks nothing takes
// no time, and fails in the same way again.
func (u *unit) checkPatience(i int) {
	n, b := &u.def.Nodes[i], &u.built[i]
	_, asks := b.body.(Asker)
	waits := asks || b.sub != nil || b.loop != nil
	if n.Timeout > 0 && !waits {
		u.strictFault(i, "timeout", "remove it", "%s asks nothing, so it takes no time", n.Type)
	}
	if n.Retry != (Retry{}) && !waits {
		u.strictFault(i, "retry", "remove it", "%s asks nothing, so it fails in the same way again", n.Type)
	}
}

func (u *unit) nodeFault(i int, field, suggestion, format string, args ...any) {
	path := nodePath(i)
	if field != "" {
		path = nodePath(i, field)
	}
	u.faults.add(Fault{Node: u.def.Nodes[i].ID, Field: field, Path: path, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

// strictFault reports a fault of a field of a node that older programs let pass.
func (u *unit) strictFault(i int, field, suggestion, format string, args ...any) {
	u.faults.add(Fault{Node: u.def.Nodes[i].ID, Field: field, Path: nodePath(i, field), Message: fmt.Sprintf(format, args...), Suggestion: suggestion, Strict: true})
}

func (u *unit) edgeFault(i int, field, suggestion, format string, args ...any) {
	e := &u.def.Edges[i]
	name := e.ID
	if name == "" {
		name = e.Source + "." + e.SourceHandle + " -> " + e.Target + "." + e.TargetHandle
	}
	u.faults.add(Fault{Edge: name, Field: field, Path: edgePath(i, field), Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

func (u *unit) checkEdges() {
	ids := map[string]int{}
	names := protocol.SortedKeys(u.byID)
	for i := range u.def.Edges {
		e := &u.def.Edges[i]
		if first, ok := ids[e.ID]; ok && e.ID != "" {
			u.edgeFault(i, "id", "rename one of them", "is also the id of edge %d", first)
		}
		ids[e.ID] = i
		source, okS := u.byID[e.Source]
		target, okT := u.byID[e.Target]
		if !okS {
			u.edgeFault(i, "source", suggest(e.Source, names), "there is no node %q", e.Source)
		}
		if !okT {
			u.edgeFault(i, "target", suggest(e.Target, names), "there is no node %q", e.Target)
		}
		all := e.SourceHandle == HandleAll
		if all != (e.TargetHandle == HandleAll) {
			u.edgeFault(i, "sourceHandle", "write * on both ends, or a handle on both", "* stands for all handles of both ends")
			continue
		}
		if okS && okT {
			u.edges = append(u.edges, edge{i, source, target, all, e.SourceHandle, e.TargetHandle, e.each})
		}
	}
}

// order sorts the nodes so that sources come before targets, nodes without an
// order between them as in the file. It reports cycles; their nodes come last.
func (u *unit) order() []int {
	n := len(u.def.Nodes)
	wait := make([]int, n)
	next := make([][]int, n)
	for _, e := range u.edges {
		wait[e.target]++
		next[e.source] = append(next[e.source], e.target)
	}
	order, done := make([]int, 0, n), make([]bool, n)
	for i := range n {
		if wait[i] == 0 {
			order = append(order, i)
		}
	}
	for head := 0; head < len(order); head++ {
		done[order[head]] = true
		for _, t := range next[order[head]] {
			if wait[t]--; wait[t] == 0 {
				order = append(order, t)
			}
		}
	}
	if len(order) == n {
		return order
	}
	u.reportCycles(next, done)
	for i := range n {
		if !done[i] {
			order = append(order, i)
		}
	}
	return order
}

// reportCycles walks what could not be sorted and names one path per cycle that
// it closes.
func (u *unit) reportCycles(next [][]int, done []bool) {
	const unseen, open, closed = 0, 1, 2
	state := make([]int, len(next))
	var path []int
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		path = append(path, i)
		for _, t := range next[i] {
			switch {
			case done[t] || state[t] == closed:
			case state[t] == open:
				u.cycleFault(path[slices.Index(path, t):])
			default:
				visit(t)
			}
		}
		path = path[:len(path)-1]
		state[i] = closed
	}
	for i := range next {
		if !done[i] && state[i] == unseen {
			visit(i)
		}
	}
}

func (u *unit) cycleFault(cycle []int) {
	names := make([]string, 0, len(cycle)+1)
	for _, i := range cycle {
		names = append(names, u.def.Nodes[i].ID)
	}
	names = append(names, names[0])
	u.nodeFault(cycle[0], "", "remove one of these edges; repeat work with a Loop node", "cycle: %s", strings.Join(names, " -> "))
}
